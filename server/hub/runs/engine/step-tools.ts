import { maxDurationMs } from '../../../max-duration.js';
import { checkName, OptionChecker } from '../../../options.js';
import type { Logger } from '../../../transports/logger.js';
import type { RunWait, WaitResolution } from '../../../transports/transport.js';
import type { HandlerFunction } from '../../events/context.js';
import type { EmitOptions } from '../../events/emit.js';
import type { EventRef } from '../../references/event-ref.js';
import { attachReporter } from '../../introspection/reported-agents.js';
import { attachPlace, type DurablePlace } from '../definition/durable-place.js';
import type { ResolvedStepOptions } from '../definition/run-scope.js';
import type { RunCtx, Step, StepOptions, WaitOptions } from '../definition/step.js';
import { resolveStepOptions } from '../definition/step-options.js';
import type { WorkflowRef } from '../../references/workflow-ref.js';
import { RunLimitError, StepFailedError } from '../errors.js';
import { createChildWait } from './child-run.js';
import { callHandler, runContaining } from './contained-steps.js';
import { mapElements } from './map-elements.js';
import type { AttemptedStep, StepHost, WaitingStep } from './requested-step.js';
import { entryOutput, pathSeparator, readEntry, type StepEntry } from './run-entry.js';
import { RunRecorder } from './run-recorder.js';

/** Maximum number of steps per run. The elements of `step.map` have a limit of their own, which is the same. */
const maxSteps = 10_000;

/** The functions of `step`: check their arguments and ask the run for steps. */
export class StepTools {
  readonly ctx: RunCtx;
  /** Records the steps of agents. */
  readonly recorder: RunRecorder;
  readonly #run: StepHost;
  #controller: AbortController | undefined;
  #abortReason: Error | undefined;
  #logger: Logger | undefined;
  #steps = 0;
  #elements = 0;

  constructor(run: StepHost) {
    this.#run = run;
    this.recorder = new RunRecorder(
      run,
      () => this.#count(),
      (kind, id, createWait) => this.#wait(kind, id, createWait),
    );
    this.ctx = this.#createCtx();
  }

  /** Aborts the signal of the run. */
  abort(reason: Error): void {
    this.#abortReason ??= reason;
    this.#controller?.abort(reason);
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

  #createCtx(): RunCtx {
    const tools = this;
    const { envelope } = this.#run.delivery;
    const { id: runId, requestId } = envelope;
    const place: DurablePlace = {
      run: this.recorder,
      pathOf: (name) => `${this.#run.replay.nextId(name.replaceAll('/', '%2F'))}${pathSeparator}`,
      recordsFailures: true,
    };
    const ctx: RunCtx = {
      get input() {
        return tools.#run.input;
      },
      step: this.#createStep(),
      runId,
      requestId,
      get signal() {
        return tools.#signal;
      },
      get logger() {
        return tools.#runLogger;
      },
    };
    attachPlace(ctx, place);
    attachReporter(ctx, this.#run.host.reportedAgents);
    return ctx;
  }

  get #signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  get #runLogger(): Logger {
    const { delivery, host, workflow } = this.#run;
    const { id: runId, requestId } = delivery.envelope;
    this.#logger ??= host.logger.child?.({ requestId, workflow: workflow.name, runId }) ?? host.logger;
    return this.#logger;
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
        new OptionChecker({ ms }, ['ms'], 'step.sleep').durationMs('ms', ms);
        await this.#waitFor('sleep', name, (key) => ({ key, delayMs: ms }));
      },
      sleepUntil: async (name: string, time: Date | number) => {
        checkName(name, 'name of step.sleepUntil');
        const check = new OptionChecker({ time }, ['time'], 'step.sleepUntil');
        const at = Number(time);
        const isTime = (typeof time === 'number' || time instanceof Date) && Number.isFinite(at);
        check.that(isTime, 'time', 'a valid Date or epoch milliseconds', time);
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
      const step: AttemptedStep = { kind, id, firstDelivery: 1, ...containing, options, call, release };
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
      const step: WaitingStep = { kind, id, firstDelivery: 1, failed: undefined, createWait, release };
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
