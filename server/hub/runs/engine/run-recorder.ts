import { AsyncResource } from 'node:async_hooks';
import type { ApprovalWait, DurableRun, DurableStep, TurnScope } from '../../events/agent-support/durable-place.js';
import { takeSnapshot } from '../../events/payloads/payload.js';
import { StepFailedError } from '../errors.js';
import { entryKey, entryOutput, noteId, readEntry, slotOf, type TurnKind } from './replay/run-entry.js';
import type { StepHost, WaitForStep } from './steps/requested-step.js';

/** Records the steps of agents: their ids come from the agent, and they may contain one another. */
export class RunRecorder implements DurableRun {
  readonly #host: StepHost;
  readonly #count: () => void;
  readonly #wait: WaitForStep;

  /** @param count counts a step, and throws if there are too many */
  constructor(host: StepHost, count: () => void, wait: WaitForStep) {
    this.#host = host;
    this.#count = count;
    this.#wait = wait;
  }

  get key(): string {
    const { host, delivery } = this.#host;
    return `${host.transport.service}:${delivery.envelope.id}`;
  }

  get turnKey(): string | undefined {
    return this.#host.delivery.envelope.key;
  }

  get name(): string {
    return this.#host.workflow.name;
  }

  get attempt(): number {
    return this.#host.delivery.attempt;
  }

  get depth(): number {
    return this.#host.delivery.envelope.depth;
  }

  get isOver(): boolean {
    return this.#host.isOver;
  }

  isRecorded(kind: 'tool' | 'request' | 'memory', id: string): boolean {
    return this.#host.replay.entries.hasResult(kind, id);
  }

  leave(prefix: string): void {
    this.#host.replay.leave(prefix);
  }

  record(step: DurableStep): Promise<() => unknown> {
    this.#count();
    return this.#request(step);
  }

  async contain(id: string, prefix: string, call: () => Promise<unknown>): Promise<() => unknown> {
    if (this.isRecorded('tool', id)) {
      this.#host.replay.skip(prefix);
      return this.record({ kind: 'tool', id, call: unreachable, recordsFailure: false });
    }
    const value = await call();
    this.leave(prefix);
    return this.record({ kind: 'tool', id, call: () => value, recordsFailure: false });
  }

  isStarted(id: string): boolean {
    return this.#host.replay.entries.hasStart(id);
  }

  async start(id: string): Promise<void> {
    const generation = this.#host.delivery.envelope.replays;
    await this.#host.record(entryKey({ role: 'started', generation, id, attempt: 0 }), '{}');
    // Not recorded: another process has the run, and this one must not act.
    if (this.#host.isOver) await never;
  }

  note(id: string, note: object): Promise<void> | undefined {
    const generation = this.#host.delivery.envelope.replays;
    const name = noteId(id, crypto.randomUUID());
    return this.#host.record(entryKey({ role: 'started', generation, id: name, attempt: 0 }), JSON.stringify(note));
  }

  notesOn(id: string): readonly unknown[] {
    return this.#host.replay.entries.notesOn(id);
  }

  canRequest(id: string, payload: unknown): boolean {
    const { replay, workflow, host } = this.#host;
    if (replay.entries.hasResult('request', id)) return true;
    if (replay.entries.hasResult('tool', id)) return false;
    try {
      takeSnapshot(payload, workflow.name, host.maxPayloadBytes);
      return true;
    } catch {
      return false;
    }
  }

  leaveDecision(id: string): void {
    const { replay } = this.#host;
    replay.leaveStep(slotOf('request', id));
    replay.leaveStep(slotOf('approval', id));
  }

  async decision(id: string, { requested, payload, decided, key, timeoutMs: delayMs }: ApprovalWait): Promise<unknown> {
    const { host } = this.#host;
    const type = host.eventType(decided);
    this.#count();
    const decision = this.#wait('approval', id, (entry) => ({
      key: entry,
      event: { type, key },
      delayMs,
      isApproval: true,
    }));
    // A wait is stored before a later step starts, so that the decision cannot come before it.
    // Its span is a child of the agent's, not of the engine's.
    const resource = new AsyncResource('hubline.turn');
    const emit = ({ emitter }: TurnScope): unknown =>
      resource.runInAsyncScope(emitter.emit, undefined, requested as string, payload);
    await this.#request({ kind: 'request', id, call: emit, recordsFailure: false });
    const resolution = await decision;
    return resolution.by === 'event' ? resolution.payload : null;
  }

  async hold<T>(work: () => PromiseLike<T>): Promise<T> {
    const release = this.#host.hold();
    try {
      return await work();
    } finally {
      release();
    }
  }

  onLeave(leave: () => void): void {
    this.#host.onLeave(leave);
  }

  #request({ kind, id, call, recordsFailure, turn, waits }: RecordedStep): Promise<() => unknown> {
    return new Promise((resolve, reject) => {
      const fail = (error: unknown): void => {
        waits?.delete(reject);
        reject(error);
      };
      this.#host.request({
        kind,
        id,
        slot: slotOf(kind, id),
        firstDelivery: 1,
        failed: undefined,
        turn,
        call,
        reject: recordsFailure ? undefined : fail,
        release(value, entry = readEntry(value)) {
          if (entry.error !== undefined) {
            fail(new StepFailedError(id, entry.attempt, entry.error));
            return;
          }
          waits?.delete(reject);
          resolve(() => JSON.parse(entryOutput(value)));
        },
      });
      waits?.add(reject);
    });
  }
}

/** Step of an agent, or the event that asks for a decision. */
type RecordedStep = Omit<DurableStep, 'kind'> & { readonly kind: TurnKind };

const never = new Promise<never>(() => {});

function unreachable(): never {
  throw new Error('unreachable: the step is recorded');
}
