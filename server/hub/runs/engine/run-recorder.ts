import { AsyncResource } from 'node:async_hooks';
import type { ApprovalWait, DurableRun } from '../definition/durable-place.js';
import type { StepContext } from '../definition/step-context.js';
import type { TurnFacts } from '../../events/agent-support/turn-facts.js';
import { StepFailedError } from '../errors.js';
import type { AttemptedStep, StepHost, WaitForStep } from './requested-step.js';
import { entryKey, entryOutput, readEntry } from './run-entry.js';

const noOptions = {};

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

  isRecorded(kind: 'tool' | 'memory', id: string): boolean {
    return this.#host.replay.entries.hasResult(kind, id);
  }

  async record(
    kind: 'model' | 'tool' | 'memory',
    id: string,
    call: (ctx: StepContext) => unknown,
    recordsFailure: boolean,
    turn?: TurnFacts,
  ): Promise<unknown> {
    this.#count();
    return this.#request(kind, id, call, recordsFailure, turn);
  }

  async contain(id: string, prefix: string, call: () => Promise<unknown>): Promise<unknown> {
    if (this.isRecorded('tool', id)) {
      this.#host.replay.skip(prefix);
      return this.record('tool', id, unreachable, false);
    }
    const value = await call();
    return this.record('tool', id, () => value, false);
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
    await this.#request('request', id, (ctx) => ctx.emit(requested as string, payload), false);
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

  #request(
    kind: AttemptedStep['kind'],
    id: string,
    call: (ctx: StepContext) => unknown,
    recordsFailure: boolean,
    turn?: TurnFacts,
  ): Promise<unknown> {
    // Spans of the step are children of the agent's span, not of the engine's.
    const resource = new AsyncResource('hubline.turn');
    return new Promise((resolve, reject) => {
      this.#host.request({
        kind,
        id,
        firstDelivery: 1,
        failed: undefined,
        options: noOptions,
        turn,
        call: (ctx) => resource.runInAsyncScope(call, undefined, ctx),
        reject: recordsFailure ? undefined : reject,
        release(value, entry = readEntry(value)) {
          if (entry.error === undefined) resolve(JSON.parse(entryOutput(value)));
          else reject(new StepFailedError(id, entry.attempt, entry.error));
        },
      });
    });
  }
}

const never = new Promise<never>(() => {});

function unreachable(): never {
  throw new Error('unreachable: the step is recorded');
}
