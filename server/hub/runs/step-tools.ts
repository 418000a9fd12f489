import { maxDurationMs } from '../../errors.js';
import { checkName, OptionChecker } from '../../options.js';
import type { Envelope, RunWait, WaitResolution } from '../../transports/delivery.js';
import { deriveId } from '../../transports/derived-ids.js';
import type { Logger } from '../../transports/transport.js';
import { DepthLimitError, RunLimitError, StepFailedError, WorkflowCancelledError } from '../errors.js';
import { type HandlerHost, LazyCtx } from '../events/attempt-ctx.js';
import type { HandlerFunction } from '../events/context.js';
import { attachPlace, type DurablePlace } from '../events/durable-place.js';
import type { EmitOptions, EventRef, WorkflowRef } from '../events/emit.js';
import { createFollowUps } from '../events/follow-ups.js';
import { maxDepth } from '../events/outcome-recorder.js';
import type { Recorded } from '../events/payload.js';
import { attachReporter } from '../events/reported-agents.js';
import { callHandler, RunRecorder, runContaining } from './agent-steps.js';
import type { AttemptedStep, SteppedRun, WaitingStep } from './requested-step.js';
import { entryOutput, pathSeparator, readEntry, type StepEntry, slotOf } from './run-entry.js';
import {
  type MapOptions,
  type ResolvedStepOptions,
  type RunCtx,
  type RunScope,
  resolveStepOptions,
  type Step,
  type StepAttemptCtx,
  type StepOptions,
  type WaitOptions,
} from './step.js';
import type { AnyWorkflow } from './workflow.js';

/** Maximum number of steps per run. The elements of `step.map` have a limit of their own, which is the same. */
const maxSteps = 10_000;

/** The functions of `step`: check their arguments and ask the run for steps. */
export class StepTools implements RunScope {
  /** Records the steps of agents. */
  readonly recorder: RunRecorder;
  readonly #run: SteppedRun;
  #abortReason: Error | undefined;
  #ctx: WorkflowCtx | undefined;
  #steps = 0;
  #elements = 0;
  #refusal: unknown;

  constructor(run: SteppedRun) {
    this.#run = run;
    this.recorder = new RunRecorder(
      run,
      () => this.#count(),
      (kind, id, createWait) => this.#wait(kind, id, createWait),
    );
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

  get body(): string {
    return this.#run.delivery.envelope.body;
  }

  /** Aborts the signal of the run. */
  abort(reason: Error): void {
    this.#abortReason ??= reason;
    this.#ctx?.abort(reason);
  }

  /** Runs a step and resolves with its result as JSON. */
  runStep(name: string, call: AttemptedStep['call'], options: ResolvedStepOptions): Promise<string> {
    this.#count();
    return this.#attempt('run', this.#run.replay.nextId(name), call, options);
  }

  /** Runs a step whose function records steps of its own, and resolves with its result as JSON. */
  runContaining(name: string, call: AttemptedStep['call'], options: ResolvedStepOptions): Promise<string> {
    this.#count();
    const id = this.#run.replay.nextId(name);
    const place = { run: this.recorder, pathOf: () => '', recordsFailures: false };
    return runContaining({ run: this.#run, place }, id, call, options, ({ call: end, ...step }) =>
      this.#attempt('run', id, end, options, step),
    );
  }

  /** Calls the handler of an event, which records its turns. */
  handle(handler: HandlerFunction, timeoutMs: number | undefined): Promise<unknown> {
    const place = { run: this.recorder, pathOf: () => '', recordsFailures: false };
    return callHandler({ run: this.#run, place }, handler, timeoutMs);
  }

  #createCtx(): WorkflowCtx {
    const { delivery, host, workflow, input } = this.#run;
    const { id: runId, requestId } = delivery.envelope;
    const place: DurablePlace = {
      run: this.recorder,
      pathOf: (name) => `${this.#run.replay.nextId(name.replaceAll('/', '%2F'))}${pathSeparator}`,
      recordsFailures: true,
    };
    const fields = { input, step: this.#createStep(), runId, requestId };
    const ctx = new WorkflowCtx(fields, workflow.name, host.logger);
    if (this.#abortReason !== undefined) ctx.abort(this.#abortReason);
    attachPlace(ctx, place);
    attachReporter(ctx, host.reportedAgents);
    return ctx;
  }

  #createStep(): Step {
    const { host, replay } = this.#run;
    const observed = this.#observed;
    return {
      run: observed(async <T>(name: string, fn: StepFunction<T>, options?: StepOptions): Result<T> => {
        const resolved = resolveStepOptions(name, fn, options);
        return JSON.parse(await this.runStep(name, fn, resolved));
      }),
      map: observed(
        async <E, T>(name: string, elements: readonly E[], fn: ElementFunction<E, T>, options?: MapOptions) => {
          const { concurrency, ...resolved } = resolveStepOptions(name, fn, options, { value: elements });
          this.#count();
          const id = replay.nextId(name);
          this.#countElements(elements.length);
          return mapElements(elements, concurrency, async (element, index): Result<T> => {
            const call = (ctx: StepAttemptCtx): T => fn(element, ctx, index);
            return JSON.parse(await this.#attempt('run', replay.nextId(`${id}[${index}]`), call, resolved));
          });
        },
      ),
      emit: observed(
        async (name: string, event: EventRef<never, unknown> | string, payload: unknown, options?: EmitOptions) => {
          checkName(name, 'name of step.emit');
          this.#count();
          // `Step` checks the payload against the reference.
          const emit: AttemptedStep['call'] = (ctx) => ctx.emit(event as string, payload, options);
          return JSON.parse(await this.#attempt('emit', replay.nextId(name), emit, {}));
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
        async <T>(name: string, event: EventRef<never, unknown> | string, options: WaitOptions = {}): Promise<T> => {
          checkName(name, 'name of step.waitForEvent');
          const check = new OptionChecker(options, ['key', 'timeoutMs'], 'step.waitForEvent');
          check.name('key', options.key);
          check.durationMs('timeoutMs', options.timeoutMs);
          const type = host.registry.event(event).type;
          const { key: eventKey, timeoutMs: delayMs } = options;
          const resolution = await this.#waitFor('event', name, (key) => ({
            key,
            event: { type, key: eventKey },
            delayMs,
          }));
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
    return (...args) => {
      const promise = fn(...args);
      promise.catch((error: unknown) => {
        if (!StepFailedError.is(error)) this.#refusal ??= error;
      });
      return promise;
    };
  };

  #attempt(
    kind: AttemptedStep['kind'],
    id: string,
    call: AttemptedStep['call'],
    options: ResolvedStepOptions,
    containing: Pick<AttemptedStep, 'contained' | 'failed'> = { failed: undefined },
  ): Promise<string> {
    return new Promise((resolve, reject) => {
      const release = (value: string, entry: StepEntry = readEntry(value)): void => {
        if (entry.error === undefined) resolve(entryOutput(value));
        else reject(this.#failure(step, entry));
      };
      const step: AttemptedStep = {
        kind,
        id,
        slot: slotOf(kind, id),
        firstDelivery: 1,
        ...containing,
        options,
        call,
        release,
      };
      this.#run.request(step);
    });
  }

  #waitFor(
    kind: WaitingStep['kind'],
    name: string,
    createWait: (key: string) => RunWait | Promise<RunWait>,
  ): Promise<WaitResolution> {
    this.#count();
    return this.#wait(kind, this.#run.replay.nextId(name), createWait);
  }

  #wait(
    kind: WaitingStep['kind'],
    id: string,
    createWait: (key: string) => RunWait | Promise<RunWait>,
  ): Promise<WaitResolution> {
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
        release,
      };
      this.#run.request(step);
    });
  }

  #failure(
    step: AttemptedStep | WaitingStep,
    { error, attempt }: Pick<StepEntry, 'error' | 'attempt'>,
  ): StepFailedError {
    const failure = new StepFailedError(step.id, attempt, error ?? { name: 'Error', message: 'unknown' });
    this.#run.failed(step, failure);
    return failure;
  }

  #count(): void {
    this.#steps += 1;
    if (this.#steps <= maxSteps) return;
    throw new RunLimitError(this.#run.workflow.name, `${this.#steps} steps`, `${maxSteps} steps`);
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
  readonly #workflow: string;

  constructor(fields: Pick<RunCtx, 'input' | 'step' | 'runId' | 'requestId'>, workflow: string, logger: Logger) {
    super(logger);
    this.input = fields.input;
    this.step = fields.step;
    this.runId = fields.runId;
    this.requestId = fields.requestId;
    this.#workflow = workflow;
  }

  protected override get logFields(): object {
    return { requestId: this.requestId, workflow: this.#workflow, runId: this.runId };
  }
}

type StepFunction<T> = (ctx: StepAttemptCtx) => T;
type ElementFunction<E, T> = (element: E, ctx: StepAttemptCtx, index: number) => T;
type Result<T> = Promise<Recorded<Awaited<T>>>;

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
  const id = deriveId(host.transport.service, parent.id, key);
  const run = {
    ...draft,
    body: draft.body,
    id,
    service: undefined,
    parent: { type: parent.type, id: parent.id, wait: key },
  };
  const error = host.redactor.info(new WorkflowCancelledError(child.name, id, 'its parent run was cancelled'));
  const onCancel = createFollowUps(host.transport.service, child.followUps, run, { status: 'failed', error });
  return { key, run, ...(onCancel.length > 0 && { onCancel }) };
}
