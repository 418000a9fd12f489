import { checkName, OptionChecker } from '../../options.js';
import type { SqlTransaction, TransactionSettings } from '../../transports/delivery.js';
import type { Logger } from '../../transports/transport.js';
import {
  AttemptCtx,
  type AttemptEmitter,
  type CtxFields,
  type HandlerHost,
  type TransactionalAttempt,
} from '../events/attempt-ctx.js';
import type { HandlerCtx, HandlerFunction } from '../events/context.js';
import type { DurablePlace } from '../events/durable-place.js';
import type { EmitOptions, EventRef, WorkflowRef } from '../events/emit.js';
import type { Publish } from '../events/live-output.js';
import type { Recorded } from '../events/payload.js';
import { type ResolvedRetry, type RetryConfig, resolveRetry } from '../events/retry-policy.js';
import { checkLimit, type Limit } from '../limits/limit.js';

/** Options of `step.run`. */
export interface StepOptions {
  /** Retry policy of the step. A run whose step waits for its next attempt holds no process. @default one attempt */
  retry?: RetryConfig;
  /** Maximum duration of one attempt, in milliseconds. @default no limit */
  timeoutMs?: number;
  /**
   * Limit that each attempt takes a permit of. A run that has to wait for more than a second holds no process meanwhile.
   * @default the `limit` of `createWorkflow`
   */
  limit?: Limit;
}

/** Options of `step.transaction`. */
export interface TransactionStepOptions extends StepOptions, TransactionSettings {}

/** Options of `step.map`. */
export interface MapOptions extends StepOptions {
  /** Maximum number of elements that run at once. @default 10 */
  concurrency?: number;
}

/** Options of `step.waitForEvent`. */
export interface WaitOptions<TPayload = unknown> {
  /** Value of the event's `key` function that the event must have. @default any event of the type */
  key?: string;
  /** Milliseconds until the wait resolves with `null`. @default waits without a limit */
  timeoutMs?: number;
  /**
   * Returns `true` for the event that the wait takes. Called once per event, in a process of the workflow's service; the
   * verdict is recorded, and the event is kept until then, also if the process dies. An event that it refuses stays for
   * later waits if the workflow `receives` it, and is passed over otherwise. The step fails if it throws. Must depend on
   * the payload alone. @default takes the first event
   */
  when?: (payload: TPayload) => boolean;
}

/** Run to which a step belongs. */
export interface WorkflowProgress<TInput = unknown> {
  readonly name: string;
  readonly runId: string;
  /** Name of the step. */
  readonly step: string;
  /** Input of the run, which is the payload of the first step. */
  readonly input: TInput;
  /** Outputs of the earlier steps by step name. The object has no prototype. */
  readonly outputs: Readonly<Record<string, unknown>>;
}

/**
 * Context of one attempt at a step. `payload` is the output of the previous step, or the run's input for the first
 * step. `eventType` is the name of the workflow, `eventId` the id of the run, `attempt` the attempt at the step.
 */
export interface StepCtx<TPayload = unknown, TInput = unknown> extends HandlerCtx<TPayload> {
  readonly workflow: WorkflowProgress<TInput>;
}

/**
 * Context of one attempt at a step of `run`. `payload` is the run's input, `eventType` the name of the workflow, and
 * `attempt` the attempt at the step. What the step emits is accepted together with its result.
 */
export interface StepRunCtx extends HandlerCtx {
  /** Id of the step: its name, with an ordinal if the run has used the name before. */
  readonly step: string;
  readonly runId: string;
}

/**
 * Steps of a run. Each step has a name and a result that is recorded once: when the function is called again after a
 * crash, a deploy or a wait, a recorded step returns its result without running. Results are JSON.
 *
 * Between its steps the function must be deterministic and await nothing but steps: use `step.run` for the time,
 * random values and I/O. A name that the run uses again gets an ordinal in the order of use, such as `send#2`.
 */
export interface Step {
  /**
   * Runs a function as a step. If the process dies, the step runs again with the same `idempotencyKey`.
   *
   * @throws {StepFailedError} if the last attempt fails
   */
  run<T>(name: string, fn: (ctx: StepRunCtx) => T, options?: StepOptions): Promise<Recorded<Awaited<T>>>;
  /**
   * Runs a function as a step in a transaction of the database: its writes and the record of the step commit together, so
   * that neither a crash nor a retry repeats them. Needs the Postgres transport. The client and the repetition of
   * `work` are those of `ctx.transaction`.
   *
   * @example
   * ```ts
   * await step.transaction('reserve', async (client) => {
   *   await client.query('UPDATE stock SET pieces = pieces - 1 WHERE id = $1', [input.product]);
   * });
   * ```
   * @throws {StepFailedError} if the last attempt fails
   * @throws {TransactionUnsupportedError} on other transports
   */
  transaction<T, TClient extends SqlTransaction = SqlTransaction>(
    name: string,
    work: (client: TClient, ctx: StepRunCtx) => T,
    options?: TransactionStepOptions,
  ): Promise<Recorded<Awaited<T>>>;
  /** Suspends the run for a number of milliseconds. The run holds no process while it sleeps. */
  sleep(name: string, ms: number): Promise<void>;
  /** Suspends the run until a time: a `Date`, or epoch milliseconds. A time in the past resolves at once. */
  sleepUntil(name: string, time: Date | number): Promise<void>;
  /**
   * Waits for the next event of a type, and resolves with its payload, or with `null` after `timeoutMs`. The wait is
   * stored before any later step starts. An event that was accepted before is not seen: begin the wait before the step
   * that provokes the event.
   *
   * @example
   * ```ts
   * const reply = step.waitForEvent('reply', orderConfirmed, { key: order.id, timeoutMs: 86_400_000 });
   * await step.emit('ask', confirmationRequested, { id: order.id });
   * if ((await reply) === null) return { status: 'expired' };
   * ```
   */
  waitForEvent<TStored = unknown>(
    name: string,
    event: EventRef<never, TStored> | string,
    options: WaitOptions<NoInfer<TStored>> & { timeoutMs: number },
  ): Promise<TStored | null>;
  /** Waits without a limit of time. */
  waitForEvent<TStored = unknown>(
    name: string,
    event: EventRef<never, TStored> | string,
    options?: Omit<WaitOptions<NoInfer<TStored>>, 'timeoutMs'>,
  ): Promise<TStored>;
  /**
   * Starts another workflow as a child run and waits for its result. Cancelling the run cancels the child.
   *
   * @throws {StepFailedError} if the child fails or `input` does not fit its schema
   */
  invoke<TInput = unknown, TResult = unknown>(
    name: string,
    workflow: WorkflowRef<TInput, TResult> | string,
    input: NoInfer<TInput>,
  ): Promise<TResult>;
  /**
   * Runs a function for each element, each as a step of its own: a crash repeats only the elements that are not
   * recorded. At most 10,000 elements per run. If an element fails, no further one starts.
   *
   * @throws {StepFailedError} if an element fails, after the running ones have ended
   */
  map<TElement, T>(
    name: string,
    elements: readonly TElement[],
    fn: (element: TElement, ctx: StepRunCtx, index: number) => T,
    options?: MapOptions,
  ): Promise<Recorded<Awaited<T>>[]>;
  /**
   * Emits an event exactly once, and resolves with its id.
   *
   * @throws {StepFailedError} if the payload does not fit its schema
   */
  emit<TPayload = unknown>(
    name: string,
    event: EventRef<TPayload, unknown> | string,
    payload: NoInfer<TPayload>,
    options?: EmitOptions,
  ): Promise<{ readonly id: string }>;
  /**
   * Publishes live output of the run between its steps, which `hub.stream` yields in any process. What an earlier delivery
   * published is not published again while the function replays. Inside a step, use `ctx.publish`.
   *
   * @example
   * ```ts
   * await step.publish({ progress: 0.5, message: 'packed' });
   * ```
   */
  publish: Publish;
  /**
   * Distinguishes new runs from those that started under older code. Returns `false` while the run replays what older code
   * recorded, and `true` afterwards. The answer is recorded with the next step.
   *
   * @example
   * ```ts
   * if (step.patched('use-new-carrier')) await step.run('book', () => carrier.book(order));
   * else await step.run('label', () => printLabel(order));
   * ```
   */
  patched(id: string): boolean;
}

/** Context of a workflow's `run` function. */
export interface RunCtx<TInput = unknown> {
  /** Input of the run as the schema returned it. */
  readonly input: TInput;
  readonly step: Step;
  readonly runId: string;
  /**
   * Type of the event that started the run, of those that trigger the workflow; `undefined` if something else did. Not an
   * own property, like `signal` and `logger`.
   */
  readonly trigger: string | undefined;
  /** Correlation id shared by all events that one request causes. */
  readonly requestId: string;
  /** Aborts when the run is cancelled, and when the hub stops and releases the run. */
  readonly signal: AbortSignal;
  /** Logger of the hub, which adds `requestId`, `workflow` and `runId` to each line. */
  readonly logger: Logger;
}

const runOptions = ['retry', 'timeoutMs', 'limit'];

/**
 * Checks the arguments of `step.run`, or of another function of `step`.
 *
 * @param of name of the function, and the elements of `step.map`
 * @throws {InvalidOptionError}
 */
export function resolveStepOptions(
  name: unknown,
  fn: unknown,
  options: MapOptions = {},
  of: { readonly owner: string; readonly elements?: unknown } = { owner: 'step.run' },
): ResolvedStepOptions & { readonly concurrency: number } {
  const { owner, elements } = of;
  const isMap = owner === 'step.map';
  checkName(name, `name of ${owner}`);
  const check = new OptionChecker(options, isMap ? [...runOptions, 'concurrency'] : runOptions, owner);
  check.required('fn', fn);
  check.function('fn', fn);
  const { retry, timeoutMs, limit, concurrency = 10 } = options;
  if (limit !== undefined) checkLimit(limit, `limit of ${owner}`);
  check.durationMs('timeoutMs', timeoutMs, { min: 1 });
  check.count('concurrency', concurrency);
  check.that(!isMap || Array.isArray(elements), 'elements', 'an array', elements);
  return { retry: retry && resolveRetry(retry, owner), timeoutMs, limit, concurrency };
}

/** Checked options of a step. */
export interface ResolvedStepOptions {
  readonly retry?: ResolvedRetry | undefined;
  readonly timeoutMs?: number | undefined;
  readonly limit?: Limit | undefined;
  readonly view?: StepView | undefined;
}

/** Access of a workflow's function to its run. */
export interface RunScope {
  readonly ctx: RunCtx;
  /** JSON of the input. */
  readonly body: string;
  /** Runs a step and resolves with its result as JSON. */
  runStep(name: string, call: (ctx: StepAttemptCtx) => unknown, options: ResolvedStepOptions): Promise<string>;
  /** Runs a step whose function records steps of its own, and resolves with its result as JSON. */
  runContaining(name: string, call: (ctx: StepAttemptCtx) => unknown, options: ResolvedStepOptions): Promise<string>;
  /** Calls the handler of an event. */
  handle(handler: HandlerFunction, timeoutMs: number | undefined): Promise<unknown>;
}

/** Function that a workflow runs. Its return value is the result of the run. */
export type RunFunction = (scope: RunScope) => unknown;

/** Payload and progress that a step of a list receives. */
export interface StepView {
  /** JSON of the payload. */
  readonly payload: string;
  /** JSON of each earlier step's output by step name. */
  readonly outputs: ReadonlyMap<string, string>;
}

/** Run and step that a context belongs to. */
export interface StepIdentity {
  readonly workflow: string;
  readonly runId: string;
  readonly step: string;
  /** JSON of the run's input. */
  readonly body: string;
  readonly view: StepView | undefined;
}

/** Context of one attempt at a step. */
export class StepAttemptCtx extends AttemptCtx implements StepCtx, StepRunCtx {
  readonly step: string;
  readonly runId: string;
  readonly workflow: WorkflowProgress;

  constructor(
    fields: CtxFields,
    emitter: Pick<AttemptEmitter, 'emit' | 'startWorkflow' | 'publish'>,
    host: Pick<HandlerHost, 'logger' | 'agentParts'>,
    identity: StepIdentity,
    ending?: TransactionalAttempt,
    place?: DurablePlace,
  ) {
    super(fields, emitter, host, ending, place);
    this.step = identity.step;
    this.runId = identity.runId;
    this.workflow = new LazyProgress(identity);
  }

  protected override get logFields(): object {
    const { requestId, eventType, runId, step, attempt } = this;
    return { requestId, workflow: eventType, runId, step, attempt };
  }
}

/** Parses `input` and `outputs` on first access, per attempt: a handler may change what it receives. */
class LazyProgress implements WorkflowProgress {
  readonly #identity: StepIdentity;
  #input: { readonly value: unknown } | undefined;
  #outputs: Record<string, unknown> | undefined;

  constructor(identity: StepIdentity) {
    this.#identity = identity;
  }

  get name(): string {
    return this.#identity.workflow;
  }

  get runId(): string {
    return this.#identity.runId;
  }

  get step(): string {
    return this.#identity.step;
  }

  get input(): unknown {
    this.#input ??= { value: JSON.parse(this.#identity.body) };
    return this.#input.value;
  }

  get outputs(): Readonly<Record<string, unknown>> {
    if (this.#outputs === undefined) {
      const outputs: Record<string, unknown> = Object.create(null);
      for (const [step, json] of this.#identity.view?.outputs ?? []) outputs[step] = JSON.parse(json);
      this.#outputs = outputs;
    }
    return this.#outputs;
  }
}
