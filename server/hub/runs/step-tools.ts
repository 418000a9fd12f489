import { InvalidOptionError, maxDurationMs } from '../../errors.js';
import { checkName, OptionChecker } from '../../options.js';
import type { Envelope, RunWait, SqlTransaction, WaitResolution } from '../../transports/delivery.js';
import { deriveId } from '../../transports/derived-ids.js';
import { TransactionUnsupportedError } from '../../transports/errors.js';
import type { Logger } from '../../transports/transport.js';
import {
  AttemptEndedError,
  DepthLimitError,
  RunLimitError,
  StepFailedError,
  WorkflowCancelledError,
} from '../errors.js';
import { attachAgentParts, type HandlerHost, LazyCtx } from '../events/attempt-ctx.js';
import { triggerOf } from '../events/condition.js';
import type { HandlerFunction } from '../events/context.js';
import { attachPlace, type DurablePlace } from '../events/durable-place.js';
import type { EmitOptions, EventRef, WorkflowRef } from '../events/emit.js';
import { createFollowUps } from '../events/follow-ups.js';
import { unobserved } from '../events/live-output.js';
import { maxDepth } from '../events/outcome-recorder.js';
import type { Recorded } from '../events/payload.js';
import { handlerInfo } from '../events/reported-agents.js';
import { CodeObserver } from './code-observer.js';
import type { AttemptScope, SteppedRun, WaitingStep } from './requested-step.js';
import { pathSeparator } from './run-entry.js';
import { callHandler, maxSteps, type RecordedStep, RunRecorder, runContaining } from './run-recorder.js';
import {
  type MapOptions,
  type ResolvedStepOptions,
  type RunCtx,
  type RunScope,
  resolveStepOptions,
  type Step,
  type StepAttemptCtx,
  type StepOptions,
  type TransactionStepOptions,
  type WaitOptions,
} from './step.js';
import type { AnyWorkflow } from './workflow.js';

/** The functions of `step`: check their arguments and ask the run for steps. */
export class StepTools implements RunScope {
  readonly #run: SteppedRun;
  readonly #recorder: RunRecorder;
  #abortReason: Error | undefined;
  #ctx: WorkflowCtx | undefined;
  #elements = 0;
  #refusal: unknown;
  #observer: CodeObserver | undefined;

  constructor(run: SteppedRun) {
    this.#run = run;
    this.#recorder = new RunRecorder(run);
  }

  /** Context of the run's function. Created on first use: the handler of an event has another one. */
  get ctx(): RunCtx {
    this.#ctx ??= this.#createCtx();
    return this.#ctx;
  }

  /** First error with which a function of `step` refused its arguments; `undefined` if there is none. */
  get refusal(): unknown {
    return this.#refusal;
  }

  /** Observer of the function of a workflow, if it is observed. */
  get observer(): CodeObserver | undefined {
    return this.#observer;
  }

  get body(): string {
    return this.#run.delivery.envelope.body;
  }

  /** Aborts the signal of the run. */
  abort(reason: Error): void {
    this.#abortReason ??= reason;
    this.#ctx?.abort(reason);
  }

  /** Runs a step and resolves with its result as JSON. */
  async runStep(name: string, fn: StepFunction<unknown>, options: ResolvedStepOptions): Promise<string> {
    return (await this.#record('run', name, fn, options)).json;
  }

  /** Runs a step whose function records steps of its own, and resolves with its result as JSON. */
  async runContaining(name: string, fn: StepFunction<unknown>, options: ResolvedStepOptions): Promise<string> {
    return (await this.#contain(name, fn, options)).json;
  }

  #contain<T>(
    name: string,
    fn: StepFunction<T>,
    options: ResolvedStepOptions,
  ): Promise<RecordedStep<RecordedValue<T>>> {
    const { limit } = options;
    const expected = 'omitted for a function that records its calls: its models and tools have a limit';
    if (limit !== undefined) throw new InvalidOptionError('limit of step.run', expected, limit, 'type');
    this.#recorder.count();
    return runContaining(this.#run, this.#recorder, this.#run.replay.nextId(name), fn, options);
  }

  /** Calls the handler of an event, which records its turns. */
  handle(handler: HandlerFunction, timeoutMs: number | undefined): Promise<unknown> {
    return callHandler(this.#run, this.#recorder, handler, timeoutMs);
  }

  #createCtx(): WorkflowCtx {
    const { delivery, host, workflow, input } = this.#run;
    const { id: runId, requestId } = delivery.envelope;
    const place: DurablePlace = {
      run: this.#recorder,
      pathOf: (name) => {
        this.#observer?.end();
        return `${this.#run.replay.nextId(name.replaceAll('/', '%2F'))}${pathSeparator}`;
      },
      recordsFailures: true,
    };
    const fields = { input, step: this.#createStep(), runId, requestId };
    const trigger = (): string | undefined =>
      triggerOf(workflow.triggers ?? [], delivery.envelope, host.transport.service)?.type;
    const ctx = new WorkflowCtx(fields, workflow.name, trigger, host.logger);
    if (this.#abortReason !== undefined) ctx.abort(this.#abortReason);
    attachPlace(ctx, place);
    attachAgentParts(ctx, host.agentParts);
    return ctx;
  }

  #createStep(): Step {
    const { host, replay } = this.#run;
    const observed = this.#observed;
    this.#observer = CodeObserver.of(this.#run);
    return {
      run: observed(async <T>(name: string, fn: StepFunction<T>, options?: StepOptions): Result<T> => {
        const resolved = resolveStepOptions(name, fn, options);
        const isDurable = handlerInfo(fn)?.isDurable === true;
        const recorded = isDurable
          ? await this.#contain<T>(name, fn, resolved)
          : await this.#record<T>('run', name, fn, resolved);
        return recorded.value;
      }),
      transaction: observed(
        async <T, TClient extends SqlTransaction>(
          name: string,
          work: (client: TClient, ctx: StepAttemptCtx) => T,
          options: TransactionStepOptions = {},
        ): Result<T> => {
          const { isolation, ...stepOptions } = options;
          const resolved = resolveStepOptions(name, work, stepOptions, { owner: 'step.transaction' });
          const { transport } = host;
          if (this.#run.delivery.transact === undefined)
            throw new TransactionUnsupportedError('step.transaction', transport.name);
          const settings = isolation === undefined ? {} : { isolation };
          const run = ({ ctx }: AttemptScope): unknown =>
            ctx.transaction((client: TClient) => work(client, ctx), settings);
          return (await this.#recorder.record<RecordedValue<T>>('run', replay.nextId(name), run, resolved)).value;
        },
      ),
      map: observed(
        async <E, T>(name: string, elements: readonly E[], fn: ElementFunction<E, T>, options?: MapOptions) => {
          const { concurrency, ...resolved } = resolveStepOptions(name, fn, options, { owner: 'step.map', elements });
          this.#recorder.count();
          const id = replay.nextId(name);
          this.#countElements(elements.length);
          return mapElements(elements, concurrency, async (element, index): Result<T> => {
            const call = ({ ctx }: AttemptScope): T => fn(element, ctx, index);
            const elementId = replay.nextId(`${id}[${index}]`);
            return (await this.#recorder.request<RecordedValue<T>>('run', elementId, call, resolved)).value;
          });
        },
      ),
      emit: observed(
        async (name: string, event: EventRef<never, unknown> | string, payload: unknown, options?: EmitOptions) => {
          checkName(name, 'name of step.emit');
          // `Step` checks the payload against the reference.
          const emit = (ctx: StepAttemptCtx) => ctx.emit(event as string, payload, options);
          return (await this.#record('emit', name, emit)).value;
        },
      ),
      sleep: observed(async (name: string, ms: number) => {
        checkName(name, 'name of step.sleep');
        const check = new OptionChecker({ ms }, ['ms'], 'step.sleep');
        check.required('ms', ms);
        check.durationMs('ms', ms);
        await this.#waitFor('sleep', name, (key) => ({ key, delayMs: ms }));
      }),
      sleepUntil: observed(async (name: string, time: Date | number) => {
        checkName(name, 'name of step.sleepUntil');
        const check = new OptionChecker({ time }, ['time'], 'step.sleepUntil');
        const at = time instanceof Date ? time.getTime() : time;
        check.that(Number.isFinite(at), 'time', 'a valid Date or epoch milliseconds', time);
        const { clock } = host.transport;
        await this.#waitFor('sleep', name, (key) => {
          const delayMs = Math.max(0, at - clock.now());
          check.that(delayMs <= maxDurationMs, 'time', `at most ${maxDurationMs} ms ahead`, time);
          return { key, delayMs };
        });
      }),
      waitForEvent: observed(
        async <T>(
          name: string,
          event: EventRef<never, unknown> | string,
          options: WaitOptions<never> = {},
        ): Promise<T> => {
          checkName(name, 'name of step.waitForEvent');
          const check = new OptionChecker(options, ['key', 'timeoutMs', 'when'], 'step.waitForEvent');
          check.name('key', options.key);
          check.durationMs('timeoutMs', options.timeoutMs);
          check.function('when', options.when);
          const type = host.registry.event(event).type;
          const { key: eventKey, timeoutMs: delayMs, when } = options;
          const createWait = (key: string): RunWait => ({
            key,
            event: { type, key: eventKey },
            delayMs,
            ...(when !== undefined && { isJudged: true }),
          });
          const resolution = await this.#waitFor('event', name, createWait, when);
          // The reference has the type of the payloads that its event stores, and `Step` adds the null of a timeout.
          return (resolution.by === 'event' ? resolution.payload : null) as T;
        },
      ),
      invoke: observed(
        async <T>(name: string, workflow: WorkflowRef<never, T> | string, input: unknown): Promise<T> => {
          checkName(name, 'name of step.invoke');
          const child = host.registry.workflow(workflow);
          const resolution = await this.#waitFor('invoke', name, (key) =>
            createChildWait(key, child, input, this.#run.delivery.envelope, host),
          );
          // The reference has the type of the results that its workflow records.
          return (resolution.by === 'run' && resolution.status === 'completed' ? resolution.result : null) as T;
        },
      ),
      publish: (data: unknown) => {
        if (this.#run.isOver) return unobserved(Promise.reject(new AttemptEndedError('step.publish')));
        const published = this.#run.output.publish(data);
        if (published === undefined) return Promise.resolve();
        // Until there is room, the function awaits something that is no step.
        return unobserved(published.finally(this.#run.hold()));
      },
      patched: (id: string) => {
        checkName(id, 'id of step.patched');
        const { isPatched, isNew } = replay.patched(id);
        if (isNew) this.#run.addPatch(id);
        return isPatched;
      },
    };
  }

  /**
   * Observes the promises of a function of `step`: one that fails before the run's function awaits it must not end the
   * process with an unhandled rejection. A failed step is recorded and logged. A step that was refused has no record.
   */
  readonly #observed = <TArguments extends readonly unknown[], T>(
    fn: (...args: TArguments) => Promise<T>,
  ): ((...args: TArguments) => Promise<T>) => {
    const observed = (...args: TArguments): Promise<T> => {
      const observer = this.#observer;
      const call = observer?.called(args[0], observed);
      const promise = fn(...args);
      promise.catch((error: unknown) => {
        if (!StepFailedError.is(error)) this.#refusal ??= error;
      });
      if (call !== undefined) promise.finally(() => observer?.settled(call)).catch(() => {});
      return promise;
    };
    return observed;
  };

  #record<T>(
    kind: 'run' | 'emit',
    name: string,
    fn: StepFunction<T>,
    options?: ResolvedStepOptions,
  ): Promise<RecordedStep<RecordedValue<T>>> {
    return this.#recorder.record(kind, this.#run.replay.nextId(name), ({ ctx }) => fn(ctx), options);
  }

  #waitFor(
    kind: WaitingStep['kind'],
    name: string,
    createWait: (key: string) => RunWait | Promise<RunWait>,
    when?: WaitingStep['when'],
  ): Promise<WaitResolution> {
    return this.#recorder.wait(kind, this.#run.replay.nextId(name), createWait, when);
  }

  #countElements(count: number): void {
    this.#elements += count;
    if (this.#elements <= maxSteps) return;
    const limit = `${maxSteps} elements of step.map`;
    throw new RunLimitError(this.#run.workflow.name, `${this.#elements} elements of step.map`, limit);
  }
}

/** Context of a run's function. */
class WorkflowCtx extends LazyCtx implements RunCtx {
  readonly input: unknown;
  readonly step: Step;
  readonly runId: string;
  readonly requestId: string;
  readonly #trigger: () => string | undefined;
  readonly #workflow: string;

  constructor(
    fields: Pick<RunCtx, 'input' | 'step' | 'runId' | 'requestId'>,
    workflow: string,
    trigger: () => string | undefined,
    logger: Logger,
  ) {
    super(logger);
    this.input = fields.input;
    this.step = fields.step;
    this.runId = fields.runId;
    this.requestId = fields.requestId;
    this.#trigger = trigger;
    this.#workflow = workflow;
  }

  get trigger(): string | undefined {
    return this.#trigger();
  }

  protected override get logFields(): object {
    return { requestId: this.requestId, workflow: this.#workflow, runId: this.runId };
  }
}

type StepFunction<T> = (ctx: StepAttemptCtx) => T;
type ElementFunction<E, T> = (element: E, ctx: StepAttemptCtx, index: number) => T;
type RecordedValue<T> = Recorded<Awaited<T>>;
type Result<T> = Promise<RecordedValue<T>>;

/**
 * Runs elements with at most `concurrency` at once, and resolves with their results in the order of the elements. After
 * a failure no further element starts; the running ones end before it rejects.
 *
 * @param run runs one element as a step and resolves with its result
 */
async function mapElements<E, T>(
  elements: readonly E[],
  concurrency: number,
  run: (element: E, index: number) => Promise<T>,
): Promise<T[]> {
  const results: T[] = new Array(elements.length);
  const remaining = elements.entries();
  let failure: { readonly error: unknown } | undefined;
  const work = async (): Promise<void> => {
    for (const [index, element] of remaining) {
      try {
        results[index] = await run(element, index);
      } catch (error) {
        failure ??= { error };
      }
      if (failure !== undefined) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, elements.length) }, work));
  if (failure !== undefined) throw failure.error;
  return results;
}

/** Creates the wait of `step.invoke`, which starts the child run. @throws if the input does not fit its schema */
async function createChildWait(
  key: string,
  child: AnyWorkflow,
  input: unknown,
  parent: Envelope,
  host: HandlerHost,
): Promise<RunWait> {
  if (parent.depth >= maxDepth) throw new DepthLimitError(child.name, parent.depth + 1, maxDepth);
  const draft = await host.publisher.draftRun(child.name, input, undefined, parent);
  host.invocations.note(parent.type, child.name);
  const id = deriveId(host.transport.service, parent.id, key);
  const run = {
    ...draft,
    body: draft.body,
    id,
    service: undefined,
    parent: { type: parent.type, id: parent.id, wait: key },
  };
  await host.publisher.index([draft.identify(id)]);
  const error = host.redactor.info(new WorkflowCancelledError(child.name, id, 'its parent run was cancelled'));
  const onCancel = createFollowUps(host.transport.service, child.followUps, run, { status: 'failed', error });
  return { key, run, ...(onCancel.length > 0 && { onCancel }) };
}
