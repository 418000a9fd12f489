import { AsyncResource } from 'node:async_hooks';
import { ignoreRejection } from '../../errors.js';
import type { Clock } from '../../transports/clock.js';
import type { Envelope } from '../../transports/delivery.js';
import { HandlerTimeoutError, StepFailedError } from '../errors.js';
import type { HandlerHost } from '../events/attempt-ctx.js';
import { AttemptCtx, AttemptEmitter } from '../events/attempt-ctx.js';
import {
  type ApprovalWait,
  type DurablePlace,
  type DurableRun,
  type DurableStep,
  type Recorded,
  StepResult,
  type TurnScope,
} from '../events/durable-place.js';
import { takeSnapshot } from '../events/payload.js';
import { startStep } from '../observability.js';
import type { AttemptedStep, SteppedRun, TurnStep, WaitForStep } from './requested-step.js';
import { entryKey, entryOutput, noteId, pathSeparator, readEntry, slotOf, type TurnKind } from './run-entry.js';
import { type ResolvedStepOptions, StepAttemptCtx } from './step.js';

/** Records the steps of agents: their ids come from the agent, and they may contain one another. */
export class RunRecorder implements DurableRun {
  readonly #host: SteppedRun;
  readonly #count: () => void;
  readonly #wait: WaitForStep;

  /** @param count counts a step, and throws if there are too many */
  constructor(host: SteppedRun, count: () => void, wait: WaitForStep) {
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

  markUnreached(prefix: string): void {
    this.#host.replay.markUnreached(prefix);
  }

  record<T>(step: DurableStep<T>): Promise<Recorded<T>> {
    this.#count();
    return this.#request(step);
  }

  async contain<T>(id: string, prefix: string, call: () => Promise<StepResult<T>>): Promise<Recorded<T>> {
    if (this.isRecorded('tool', id)) {
      this.#host.replay.skip(prefix);
      return this.record<T>({ kind: 'tool', id, call: unreachable, recordsFailure: false });
    }
    const result = await call();
    this.markUnreached(prefix);
    return this.record({ kind: 'tool', id, call: () => result, recordsFailure: false });
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

  skipDecision(id: string): void {
    const { replay } = this.#host;
    replay.markStepUnreached(slotOf('request', id));
    replay.markStepUnreached(slotOf('approval', id));
  }

  async decision(id: string, { requested, payload, decided, key, timeoutMs: delayMs }: ApprovalWait): Promise<unknown> {
    const { host } = this.#host;
    const type = host.registry.event(decided).type;
    this.#count();
    const decision = this.#wait('approval', id, (entry) => ({
      key: entry,
      event: { type, key },
      delayMs,
      isApproval: true,
    }));
    // It may be refused before it is awaited.
    ignoreRejection(decision);
    // A wait is stored before a later step starts, so that the decision cannot come before it.
    // Its span is a child of the agent's, not of the engine's.
    const resource = new AsyncResource('hubline.turn');
    const emit = async ({ emitter }: TurnScope): Promise<StepResult> => {
      const accepted = resource.runInAsyncScope(() => emitter.emit(requested as string, payload));
      return new StepResult(await accepted, undefined, false);
    };
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

  #request<T>({ kind, id, call, recordsFailure, turn, waits }: RecordedStep<T>): Promise<Recorded<T>> {
    return new Promise((resolve, reject) => {
      const fail = (error: unknown): void => {
        waits?.delete(reject);
        reject(error);
      };
      const step: RequestedTurn<T> = {
        kind,
        id,
        slot: slotOf(kind, id),
        firstDelivery: 1,
        failed: undefined,
        turn,
        result: undefined,
        call,
        reject: recordsFailure ? undefined : fail,
        release(value, entry = readEntry(value)) {
          if (entry.error !== undefined) {
            fail(new StepFailedError(id, entry.attempt, entry.error));
            return;
          }
          waits?.delete(reject);
          const { result } = step;
          const isReplayed = result === undefined;
          // Recorded from a `StepResult` of the same step.
          resolve({ value: isReplayed ? (JSON.parse(entryOutput(value)) as T) : result.value, isReplayed });
        },
      };
      this.#host.request(step);
      waits?.add(reject);
    });
  }
}

/** Step of an agent, or the event that asks for a decision. */
type RecordedStep<T> = Omit<DurableStep<T>, 'kind'> & { readonly kind: TurnKind };

type RequestedTurn<T> = TurnStep & { result: StepResult<T> | undefined };

const never = new Promise<never>(() => {});

function unreachable(): never {
  throw new Error('unreachable: the step is recorded');
}

/** Part of a run that calls handlers. */
export interface HandlerCaller {
  readonly run: SteppedRun;
  readonly place: DurablePlace;
}

/** Calls an event's handler that records its turns. */
export function callHandler(
  { run, place }: HandlerCaller,
  handler: (ctx: AttemptCtx) => unknown,
  timeoutMs: number | undefined,
): Promise<unknown> {
  const { delivery, host, input: payload, workflow } = run;
  const { id, requestId, depth, type } = delivery.envelope;
  const idempotencyKey = `${host.transport.service}:${id}`;
  const { attempt } = delivery;
  const fields = { requestId, eventType: type, eventId: id, payload, attempt, depth, idempotencyKey };
  const ctx = new AttemptCtx(fields, closedEmitter(host, delivery.envelope), host, place);
  return callInTime(ctx, handler, workflow.name, timeoutMs, run);
}

/**
 * Runs a step of a list whose handler records its turns as steps of the run, and resolves with its result as JSON.
 *
 * @param attempt requests the step, which records its result
 */
export async function runContaining(
  { run, place }: HandlerCaller,
  id: string,
  call: AttemptedStep['call'],
  options: ResolvedStepOptions,
  attempt: (step: Pick<AttemptedStep, 'call' | 'contained' | 'failed'>) => Promise<string>,
): Promise<string> {
  const { delivery, host, input, replay, workflow } = run;
  const { clock, service } = host.transport;
  const prefix = `${id}${pathSeparator}`;
  if (replay.entries.hasResult('run', id)) {
    replay.skip(prefix);
    return attempt({ call, contained: undefined, failed: undefined });
  }
  const contained = { startedAt: clock.now(), startedMonotonic: clock.monotonic(), isOver: false };
  const failed = replay.open(id);
  if (failed !== undefined && !failed.isDue && failed.retryAt > contained.startedAt) {
    replay.close(id);
    replay.skip(prefix);
    return attempt({ call, contained: { ...contained, isOver: true }, failed });
  }
  const { id: runId, requestId, depth, body } = delivery.envelope;
  const fields = {
    requestId,
    eventType: workflow.name,
    eventId: runId,
    payload: options.view === undefined ? input : (JSON.parse(options.view.payload) as unknown),
    attempt: (failed?.attempt ?? 0) + 1,
    depth,
    idempotencyKey: `${service}:${runId}:${id}`,
  };
  const identity = { workflow: workflow.name, runId, step: id, body, view: options.view };
  const ctx = new StepAttemptCtx(fields, closedEmitter(host, delivery.envelope), host, identity, {
    ...place,
    pathOf: () => prefix,
  });
  const operation = startStep(workflow.name, id, fields.attempt);
  run.onLeave(() => operation?.end());
  const handle = operation === undefined ? call : (own: StepAttemptCtx) => operation.run(() => call(own));
  let end: () => unknown;
  try {
    const result = await callInTime(ctx, handle, `${workflow.name}: ${id}`, options.timeoutMs, run);
    end = () => result;
  } catch (error) {
    operation?.fail(error);
    end = () => {
      throw error;
    };
  } finally {
    operation?.end();
  }
  replay.close(id);
  replay.markUnreached(prefix);
  const due = failed && { ...failed, delivery: delivery.attempt, isDue: true };
  return attempt({ call: end, contained, failed: due });
}

/** Calls a handler until its timeout. The handler ends when its signal aborts, as agents do. */
async function callInTime<TCtx extends AttemptCtx>(
  ctx: TCtx,
  handler: (ctx: TCtx) => unknown,
  owner: string,
  timeoutMs: number | undefined,
  run: SteppedRun,
): Promise<unknown> {
  const timer = timeoutMs === undefined ? undefined : startTimer(ctx, owner, timeoutMs, run.host.transport.clock);
  run.onLeave((reason) => {
    timer?.cancel();
    if (reason !== undefined) ctx.abort(reason);
  });
  try {
    return await handler(ctx);
  } finally {
    timer?.cancel();
  }
}

function startTimer(ctx: AttemptCtx, owner: string, timeoutMs: number, clock: Clock): { cancel(): void } {
  return clock.after(timeoutMs, () => ctx.abort(new HandlerTimeoutError(owner, timeoutMs)));
}

/** The tools of an agent emit with contexts of their own, so that their events belong to the recorded call. */
function closedEmitter(host: HandlerHost, cause: Envelope): AttemptEmitter {
  const emitter = new AttemptEmitter(host.publisher, cause, '');
  emitter.close();
  return emitter;
}
