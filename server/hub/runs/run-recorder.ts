import { AsyncResource } from 'node:async_hooks';
import { ignoreRejection } from '../../errors.js';
import type { Clock } from '../../transports/clock.js';
import type { Envelope, RunWait, WaitResolution } from '../../transports/delivery.js';
import { HandlerTimeoutError, RunLimitError, StepFailedError } from '../errors.js';
import type { HandlerHost } from '../events/attempt-ctx.js';
import { AttemptCtx, AttemptEmitter, type PublishingAttempt } from '../events/attempt-ctx.js';
import type {
  ApprovalWait,
  DurablePlace,
  DurableRun,
  Recorded,
  RunTexts,
  StepResult,
  StepScope,
} from '../events/durable-place.js';
import type { OutputWriter } from '../events/live-output.js';
import { takeSnapshot } from '../events/payload.js';
import { startStep } from '../observability.js';
import type { AttemptedStep, AttemptOptions, SteppedRun, WaitingStep } from './requested-step.js';
import {
  type AttemptedKind,
  entryKey,
  entryOutput,
  noteId,
  pathSeparator,
  readEntry,
  type StepEntry,
  slotOf,
} from './run-entry.js';
import type { StepRequest } from './run-replay.js';
import { DeliveredTexts } from './sent-texts.js';
import { type ResolvedStepOptions, StepAttemptCtx } from './step.js';

/** Maximum number of steps per run. The elements of `step.map` have a limit of their own, which is the same. */
export const maxSteps = 10_000;

/** Records the steps of a run: those that its function asks for, and those of agents, which may contain one another. */
export class RunRecorder implements DurableRun {
  readonly #host: SteppedRun;
  #steps = 0;
  #texts: DeliveredTexts | undefined;

  constructor(host: SteppedRun) {
    this.#host = host;
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

  get isAtEnd(): boolean {
    return this.#host.replay.isAtEnd;
  }

  get texts(): RunTexts {
    const { host, delivery } = this.#host;
    this.#texts ??= new DeliveredTexts(host.transport, delivery.envelope.id, host.logger);
    return this.#texts;
  }

  isRecorded(kind: 'model' | 'tool' | 'request' | 'memory', id: string): boolean {
    return this.#host.replay.entries.hasResult(kind, id);
  }

  markUnreached(prefix: string): void {
    this.#host.replay.markUnreached(prefix);
  }

  record<T>(
    kind: AttemptedKind,
    id: string,
    call: AttemptedStep['call'],
    options?: AttemptOptions,
  ): Promise<RecordedStep<T>> {
    this.count();
    return this.request(kind, id, call, options);
  }

  /** Counts a step. @throws {RunLimitError} if there are too many */
  count(): void {
    this.#steps += 1;
    if (this.#steps <= maxSteps) return;
    throw new RunLimitError(this.name, `${this.#steps} steps`, `${maxSteps} steps`);
  }

  /** Records a step that is counted already. See {@link record}. */
  request<T>(
    kind: AttemptedKind,
    id: string,
    call: AttemptedStep['call'],
    options: AttemptOptions = {},
  ): Promise<RecordedStep<T>> {
    const { waits, contained, recordsFailure = true } = options;
    return new Promise((resolve, reject) => {
      const fail = (error: unknown): void => {
        waits?.delete(reject);
        reject(error);
      };
      const release = (value: string, entry: StepEntry = readEntry(value)): void => {
        if (entry.error !== undefined) {
          fail(this.#failure(step, entry));
          return;
        }
        waits?.delete(reject);
        resolve(new RecordedStep(value, step.result));
      };
      const step: AttemptedStep = {
        kind,
        id,
        slot: slotOf(kind, id),
        firstDelivery: 1,
        failed: contained?.failed,
        options,
        reject: recordsFailure ? undefined : fail,
        result: undefined,
        call,
        release,
      };
      this.#host.request(step);
      waits?.add(reject);
    });
  }

  /** Waits for a step that only the transport can resolve. */
  wait(
    kind: WaitingStep['kind'],
    id: string,
    createWait: (key: string) => RunWait | Promise<RunWait>,
    when?: WaitingStep['when'],
  ): Promise<WaitResolution> {
    this.count();
    return new Promise((resolve, reject) => {
      const release = (value: string): void => {
        // Recorded by the transport, or by the engine if the wait could not be created.
        const entry = JSON.parse(value) as WaitResolution | StepEntry;
        if (!('by' in entry)) reject(this.#failure(step, entry));
        else if (entry.by === 'run' && entry.status === 'failed') reject(this.#failure(step, { ...entry, attempt: 1 }));
        else resolve(entry);
      };
      const step: WaitingStep = {
        kind,
        id,
        slot: slotOf(kind, id),
        firstDelivery: 1,
        failed: undefined,
        createWait,
        when,
        release,
      };
      this.#host.request(step);
    });
  }

  #failure(step: StepRequest, { error, attempt }: Pick<StepEntry, 'error' | 'attempt'>): StepFailedError {
    const failure = new StepFailedError(step.id, attempt, error ?? { name: 'Error', message: 'unknown' });
    this.#host.failed(step, failure);
    return failure;
  }

  async contain<T>(
    id: string,
    prefix: string,
    call: () => Promise<StepResult<T>>,
    onRecord?: (scope: StepScope) => void,
  ): Promise<Recorded<T>> {
    if (this.isRecorded('tool', id)) {
      this.#host.replay.skip(prefix);
      return this.record('tool', id, unreachable);
    }
    const result = await call();
    this.markUnreached(prefix);
    const end = (scope: StepScope): StepResult<T> => {
      onRecord?.(scope);
      return result;
    };
    return this.record('tool', id, end, { recordsFailure: false });
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

  async decision(id: string, wait: ApprovalWait): Promise<unknown> {
    const { requested, payload, decided, key, timeoutMs: delayMs, published } = wait;
    const { host } = this.#host;
    const type = host.registry.event(decided).type;
    const decision = this.wait('approval', id, (entry) => ({
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
    const emit: AttemptedStep['call'] = ({ emitter }) => {
      if (published !== undefined) void emitter.publish(published);
      return resource.runInAsyncScope(() => emitter.emit(requested as string, payload));
    };
    await this.request('request', id, emit, { recordsFailure: false });
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
}

/** Result of a step that is recorded. */
export class RecordedStep<T> implements Recorded<T> {
  readonly #entry: string;
  readonly #result: StepResult | undefined;

  /**
   * @param entry recorded entry
   * @param result result of the attempt, if this delivery made it
   */
  constructor(entry: string, result: StepResult | undefined) {
    this.#entry = entry;
    this.#result = result;
  }

  get json(): string {
    return entryOutput(this.#entry);
  }

  get value(): T {
    // Recorded from a result of the same step.
    return (this.#result === undefined ? JSON.parse(this.json) : this.#result.value) as T;
  }

  get isReplayed(): boolean {
    return this.#result === undefined;
  }
}

const never = new Promise<never>(() => {});

function unreachable(): never {
  throw new Error('unreachable: the step is recorded');
}

/** Calls an event's handler that records its turns. */
export function callHandler(
  run: SteppedRun,
  recorder: RunRecorder,
  handler: (ctx: AttemptCtx) => unknown,
  timeoutMs: number | undefined,
): Promise<unknown> {
  const { delivery, host, input: payload, workflow } = run;
  const { id, requestId, depth, type } = delivery.envelope;
  const idempotencyKey = `${host.transport.service}:${id}`;
  const { attempt } = delivery;
  const fields = { requestId, eventType: type, eventId: id, payload, attempt, depth, idempotencyKey };
  const emitter = closedEmitter(host, delivery.envelope, new FunctionOutput(run, undefined, attempt));
  const ctx = new AttemptCtx(fields, emitter, host, undefined, placeIn(recorder, ''));
  return callInTime(ctx, handler, workflow.name, timeoutMs, run);
}

/** Runs a step of a list whose handler records its turns as steps of the run. */
export async function runContaining<T>(
  run: SteppedRun,
  recorder: RunRecorder,
  id: string,
  handler: (ctx: StepAttemptCtx) => unknown,
  options: ResolvedStepOptions,
): Promise<RecordedStep<T>> {
  const { delivery, host, input, replay, workflow } = run;
  const { clock, service } = host.transport;
  const prefix = `${id}${pathSeparator}`;
  if (replay.entries.hasResult('run', id)) {
    replay.skip(prefix);
    return recorder.request('run', id, unreachable, options);
  }
  const failed = replay.open(id);
  const contained = { startedAt: clock.now(), startedMonotonic: clock.monotonic(), isOver: false, failed };
  if (failed !== undefined && !failed.isDue && failed.retryAt > contained.startedAt) {
    replay.close(id);
    replay.skip(prefix);
    return recorder.request('run', id, unreachable, { ...options, contained: { ...contained, isOver: true } });
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
  const emitter = closedEmitter(host, delivery.envelope, new FunctionOutput(run, id, fields.attempt));
  const ctx = new StepAttemptCtx(fields, emitter, host, identity, undefined, placeIn(recorder, prefix));
  const operation = startStep(workflow.name, id, fields.attempt);
  run.onLeave(() => operation?.end());
  const handle = operation === undefined ? handler : (own: StepAttemptCtx) => operation.run(() => handler(own));
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
  return recorder.request('run', id, end, { ...options, contained: { ...contained, failed: due } });
}

/** Place of a handler, whose failures are those of its event or its step. */
function placeIn(run: RunRecorder, path: string): DurablePlace {
  return { run, pathOf: () => path, recordsFailures: false };
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
function closedEmitter(host: HandlerHost, cause: Envelope, output: PublishingAttempt): AttemptEmitter {
  const emitter = new AttemptEmitter(host.publisher, cause, '', output);
  emitter.close();
  return emitter;
}

/** Live output of a handler that records its turns, and is called again with each delivery. */
class FunctionOutput implements PublishingAttempt {
  readonly #run: SteppedRun;
  readonly #step: string | undefined;
  readonly #attempt: number;
  #output: OutputWriter | undefined;

  constructor(run: SteppedRun, step: string | undefined, attempt: number) {
    this.#run = run;
    this.#step = step;
    this.#attempt = attempt;
  }

  get output(): OutputWriter {
    this.#output ??= this.#run.output.writer(this.#step, this.#attempt);
    if (this.#run.isOver) this.#output.close();
    return this.#output;
  }
}
