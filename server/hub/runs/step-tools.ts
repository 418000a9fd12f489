import { maxDurationMs } from '../../errors.js';
import { checkName, OptionChecker } from '../../options.js';
import { deriveId } from '../../transports/delivery.js';
import type { Envelope, Logger, RunWait, WaitResolution } from '../../transports/transport.js';
import { DepthLimitError, RunLimitError, StepFailedError, WorkflowCancelledError } from '../errors.js';
import type { HandlerFunction } from '../events/context.js';
import { attachPlace, type DurablePlace } from '../events/durable-place.js';
import type { EmitOptions, EventRef, WorkflowRef } from '../events/emit.js';
import { createFollowUps } from '../events/follow-ups.js';
import { type HandlerHost, maxDepth } from '../events/outcome-recorder.js';
import { attachReporter } from '../events/reported-agents.js';
import { callHandler, RunRecorder, runContaining } from './agent-steps.js';
import type { AttemptedStep, StepHost, WaitingStep } from './requested-step.js';
import { entryOutput, pathSeparator, readEntry, type StepEntry, slotOf } from './run-entry.js';
import {
  type ResolvedStepOptions,
  type RunCtx,
  type RunScope,
  resolveStepOptions,
  type Step,
  type StepContext,
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
  readonly #run: StepHost;
  #abortReason: Error | undefined;
  #ctx: RunContext | undefined;
  #steps = 0;
  #elements = 0;

  constructor(run: StepHost) {
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

  #createCtx(): RunContext {
    const { delivery, host, workflow, input } = this.#run;
    const { id: runId, requestId } = delivery.envelope;
    const place: DurablePlace = {
      run: this.recorder,
      pathOf: (name) => `${this.#run.replay.nextId(name.replaceAll('/', '%2F'))}${pathSeparator}`,
      recordsFailures: true,
    };
    const createLogger = (): Logger =>
      host.logger.child?.({ requestId, workflow: workflow.name, runId }) ?? host.logger;
    const ctx = new RunContext({ input, step: this.#createStep(), runId, requestId }, createLogger);
    if (this.#abortReason !== undefined) ctx.abort(this.#abortReason);
    attachPlace(ctx, place);
    attachReporter(ctx, host.reportedAgents);
    return ctx;
  }

  #createStep(): Step {
    const { host, replay } = this.#run;
    const functions = {
      run: async (name: string, fn: AttemptedStep['call'], options?: StepOptions) => {
        const resolved = resolveStepOptions(name, fn, options);
        return JSON.parse(await this.runStep(name, fn, resolved)) as unknown;
      },
      map: async (name: string, elements: readonly unknown[], fn: never, options?: StepOptions) => {
        const { concurrency, ...resolved } = resolveStepOptions(name, fn, options, { value: elements });
        this.#count();
        const id = replay.nextId(name);
        this.#countElements(elements.length);
        return mapElements(elements, concurrency, async (index, call) => {
          const output = await this.#attempt('run', replay.nextId(`${id}[${index}]`), call(fn), resolved);
          return JSON.parse(output) as unknown;
        });
      },
      emit: async (name: string, event: EventRef<never, unknown> | string, payload: unknown, options?: EmitOptions) => {
        checkName(name, 'name of step.emit');
        this.#count();
        // `Step` checks the payload against the reference.
        const emit: AttemptedStep['call'] = (ctx) => ctx.emit(event as string, payload, options);
        return JSON.parse(await this.#attempt('emit', replay.nextId(name), emit, {})) as unknown;
      },
      sleep: async (name: string, ms: number) => {
        checkName(name, 'name of step.sleep');
        const check = new OptionChecker({ ms }, ['ms'], 'step.sleep');
        check.required('ms', ms);
        check.durationMs('ms', ms);
        await this.#waitFor('sleep', name, (key) => ({ key, delayMs: ms }));
      },
      sleepUntil: async (name: string, time: Date | number) => {
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
      },
      waitForEvent: async (name: string, event: EventRef<never, unknown> | string, options: WaitOptions = {}) => {
        checkName(name, 'name of step.waitForEvent');
        const check = new OptionChecker(options, ['key', 'timeoutMs'], 'step.waitForEvent');
        check.name('key', options.key);
        check.durationMs('timeoutMs', options.timeoutMs);
        const type = host.eventType(event);
        const { key: eventKey, timeoutMs: delayMs } = options;
        const resolution = await this.#waitFor('event', name, (key) => ({
          key,
          event: { type, key: eventKey },
          delayMs,
        }));
        return resolution.by === 'event' ? resolution.payload : null;
      },
      invoke: async (name: string, workflow: WorkflowRef<never> | string, input: unknown) => {
        checkName(name, 'name of step.invoke');
        const child = host.findWorkflow(workflow);
        const resolution = await this.#waitFor('invoke', name, (key) =>
          createChildWait(key, child, input, this.#run.delivery.envelope, host),
        );
        return resolution.by === 'run' && resolution.status === 'completed' ? resolution.result : null;
      },
      patched: (id: string) => {
        checkName(id, 'id of step.patched');
        const { isPatched, isNew } = replay.patched(id);
        if (isNew) this.#run.addPatch(id);
        return isPatched;
      },
    };
    // The generic types are those of `Step`; here results are the JSON that was recorded.
    return functions as unknown as Step;
  }

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

/**
 * Context of a run's function. Creates the abort controller and the logger on first access. A class, because V8 creates
 * the getters of an object literal in its old generation, and with them the run outlives its end.
 */
class RunContext implements RunCtx {
  readonly input: unknown;
  readonly step: Step;
  readonly runId: string;
  readonly requestId: string;
  readonly #createLogger: () => Logger;
  #logger: Logger | undefined;
  #controller: AbortController | undefined;
  #abortReason: Error | undefined;

  constructor(fields: Pick<RunCtx, 'input' | 'step' | 'runId' | 'requestId'>, createLogger: () => Logger) {
    this.input = fields.input;
    this.step = fields.step;
    this.runId = fields.runId;
    this.requestId = fields.requestId;
    this.#createLogger = createLogger;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  get logger(): Logger {
    this.#logger ??= this.#createLogger();
    return this.#logger;
  }

  abort(reason: Error): void {
    this.#abortReason ??= reason;
    this.#controller?.abort(reason);
  }
}

type ElementFunction = (element: unknown, ctx: StepContext, index: number) => unknown;

/** Runs one element as a step and resolves with its result. `call` makes the step's function of the user's. */
type RunElement = (index: number, call: (fn: ElementFunction) => (ctx: StepContext) => unknown) => Promise<unknown>;

/**
 * Runs elements with at most `concurrency` at once, and resolves with their results in the order of the elements. After
 * a failure no further element starts; the running ones end before it rejects.
 */
async function mapElements(
  elements: readonly unknown[],
  concurrency: number,
  run: RunElement,
): Promise<readonly unknown[]> {
  const results: unknown[] = new Array(elements.length);
  let next = 0;
  let failure: { readonly error: unknown } | undefined;
  const work = async (): Promise<void> => {
    while (failure === undefined && next < elements.length) {
      const index = next;
      next += 1;
      try {
        results[index] = await run(index, (fn) => (ctx) => fn(elements[index], ctx, index));
      } catch (error) {
        failure ??= { error };
      }
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
  const draft = await host.draftRun(parent, child.name, input);
  const id = deriveId(host.transport.service, parent.id, key);
  const run = { ...draft, body: draft.body, id, parent: { type: parent.type, id: parent.id, wait: key } };
  const error = host.redactor.info(new WorkflowCancelledError(child.name, id, 'its parent run was cancelled'));
  const onCancel = createFollowUps(host.transport.service, child.followUps, run, { status: 'failed', error });
  return { key, run, ...(onCancel.length > 0 && { onCancel }) };
}
