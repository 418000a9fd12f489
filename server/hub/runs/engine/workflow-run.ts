import { AsyncResource } from 'node:async_hooks';
import { isFatal } from '../../../errors.js';
import type { Delivery, Envelope, RunWait } from '../../../transports/transport.js';
import { AttemptEndedError, SchemaValidationError, StoredPayloadError, WorkflowVersionError } from '../../errors.js';
import { type HandlerHost, OutcomeRecorder, preflightError } from '../../events/attempts/outcome-recorder.js';
import { encodePayload } from '../../events/payloads/payload.js';
import type { RunDefinition } from '../definition/run-definition.js';
import type { RunFunction, RunScope } from '../definition/run-scope.js';
import type { StepFailedError } from '../errors.js';
import { FailedSteps } from './failed-steps.js';
import { Replay, type StepRequest } from './replay.js';
import type { AttemptedStep, RequestedStep, StepHost } from './requested-step.js';
import { entryKey, isAttemptedKind, slotOf, writeEntry } from './run-entry.js';
import { type AttemptRun, StepAttempt } from './step-attempt.js';
import { StepTools } from './step-tools.js';

/** Delay before a released run is delivered again, in milliseconds. */
const releaseDelayMs = 1_000;

/** Advances a run for one delivery. */
export function runWorkflow(workflow: RunDefinition, delivery: Delivery, host: HandlerHost): void {
  new WorkflowRun(workflow, delivery, host).start();
}

/**
 * One delivery of a run. Calls the workflow's function from its first line, replays what is recorded, starts the steps
 * that are not, and suspends the run when only waits are left. The promise of a suspended function never settles:
 * nothing refers to it, and the function is called again by the delivery that resumes the run.
 */
class WorkflowRun implements AttemptRun, StepHost {
  readonly workflow: RunDefinition;
  readonly delivery: Delivery;
  readonly host: HandlerHost;
  readonly replay: Replay<RequestedStep>;
  input: unknown;
  readonly #recorder: OutcomeRecorder;
  /** Context of the delivery: entries are recorded in the contexts of other runs and of timers. */
  readonly #resource = new AsyncResource('hubline.run');
  readonly #attempts = new Set<StepAttempt>();
  readonly #failures = new FailedSteps((error) => this.host.redactor.info(error));
  readonly #tools: StepTools;
  #patches: string[] = [];
  #recording = 0;
  #holds = 0;
  #leaves: ((reason?: Error) => void)[] = [];
  /** A step that contains others is due again: only another delivery replays what it contains. */
  #needsDelivery = false;
  #isStoring = false;
  #isScheduled = false;
  #isOver = false;

  constructor(workflow: RunDefinition, delivery: Delivery, host: HandlerHost) {
    this.workflow = workflow;
    this.delivery = delivery;
    this.host = host;
    this.replay = new Replay(delivery.checkpoints, delivery.envelope.replays);
    const kind = workflow.isEvent === true ? 'event' : 'workflow';
    this.#recorder = new OutcomeRecorder(kind, workflow.name, workflow.followUps, delivery, host);
    this.#tools = new StepTools(this);
  }

  start(): void {
    const { name, version } = this.workflow;
    const error = preflightError(name, this.delivery);
    if (error !== undefined) {
      this.#recorder.fail(error);
      return;
    }
    const { lastVersion = version } = this.replay;
    if (lastVersion > version) {
      this.#log('debug', { version, lastVersion }, 'run released: a higher version of the workflow advanced it');
      this.#recorder.release(releaseDelayMs);
      return;
    }
    this.delivery.onRevoked = (reason) => this.#stop(reason);
    this.delivery.onRecorded = (key, value) => {
      this.replay.append(key, value);
      this.schedule();
    };
    this.#validate();
  }

  request(step: RequestedStep): void {
    this.replay.request(step);
    this.schedule();
  }

  withdraw(step: AttemptedStep): void {
    this.replay.withdraw(step);
    this.schedule();
  }

  hold(): () => void {
    this.#holds += 1;
    return () => {
      this.#holds -= 1;
      this.schedule();
    };
  }

  onLeave(leave: (reason?: Error) => void): void {
    if (this.#isOver) leave();
    else this.#leaves.push(leave);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  addPatch(id: string): void {
    this.#patches.push(id);
  }

  failed(step: StepRequest, error: StepFailedError): void {
    this.#failures.addFailure(slotOf(step.kind, step.id), error);
  }

  /** Advances the run when the function has come to rest. */
  schedule(): void {
    if (this.#isScheduled || this.#isOver) return;
    this.#isScheduled = true;
    // A tick that a microtask asks for runs when no microtask is left: the function then waits for steps alone.
    queueMicrotask(() => process.nextTick(() => this.#resource.runInAsyncScope(this.#advance, this)));
  }

  async record(key: string, value: string, emits?: readonly Envelope[]): Promise<void> {
    if (this.#isOver) return;
    this.#recording += 1;
    try {
      const result = await this.delivery.checkpoint(key, value, emits);
      if (result === 'fenced') this.#stop();
    } catch (error) {
      this.#release(error);
    } finally {
      this.#recording -= 1;
      this.schedule();
    }
  }

  attemptEnded(attempt: StepAttempt, thrown?: unknown): void {
    this.#attempts.delete(attempt);
    if (thrown !== undefined) this.#failures.addThrown(slotOf(attempt.step.kind, attempt.step.id), thrown);
  }

  /** Checks the input that an event brought. That of `startWorkflow` was checked when it was accepted. */
  #validate(): void {
    const { input: schema, name } = this.workflow;
    try {
      this.input = JSON.parse(this.delivery.envelope.body);
    } catch (cause) {
      this.#stop();
      this.#recorder.failUnreadable(new StoredPayloadError(name, cause));
      return;
    }
    if (schema === undefined || this.replay.size > 0) {
      this.#call();
      return;
    }
    const proceed = (result: Awaited<ReturnType<typeof schema.validate>>): void => {
      if (this.#isOver) return;
      if (result.issues === undefined) this.#call();
      else this.#fail(new SchemaValidationError(name, result.issues, schema.publicPaths(result.issues)), 'final');
    };
    try {
      const result = schema.validate(this.input);
      if (result instanceof Promise) result.then(proceed, (error: unknown) => this.#fail(error));
      else proceed(result);
    } catch (error) {
      this.#fail(error);
    }
  }

  #call(): void {
    const scope: RunScope = {
      ctx: this.#tools.ctx,
      body: this.delivery.envelope.body,
      runStep: (name, call, options) => this.#tools.runStep(name, call, options),
      runContaining: (name, call, options) => this.#tools.runContaining(name, call, options),
      handle: (handler, timeoutMs) => this.#tools.handle(handler, timeoutMs),
    };
    // `createWorkflow` sets it. The public type keeps users from calling it.
    const run = this.workflow.run as RunFunction;
    const call = async (): Promise<unknown> => run(scope);
    call().then(
      (result) => this.#complete(result),
      (error: unknown) => this.#fail(error),
    );
    this.schedule();
  }

  #advance(): void {
    this.#isScheduled = false;
    // The function is not at rest: the end of the last hold schedules the run again.
    while (!this.#isOver && this.#holds === 0) {
      switch (this.replay.advance()) {
        case 'released':
          this.schedule();
          return;
        case 'unrequested':
          // Without any request the function awaits something that is no step, and may ask for it later.
          if (this.replay.hasRequests) this.#failVersion();
          return;
        case 'end':
          this.#startHeld();
          return;
        default:
      }
    }
  }

  /** Starts steps that are not recorded, in the order in which the function asked for them. */
  #startHeld(): void {
    if (this.#isStoring) return;
    for (let step = this.replay.held; step !== undefined; step = this.replay.held) {
      if (this.#patches.length > 0 || !isReady(step)) {
        void this.#store();
        return;
      }
      this.replay.takeHeld();
      this.#attempt(step);
      if (this.#isOver) return;
    }
    if (this.#isIdle()) this.#suspend();
  }

  #attempt(step: AttemptedStep): void {
    if (step.contained?.isOver === true) {
      this.#needsDelivery = true;
      return;
    }
    if (step.contained !== undefined) step.contained.isOver = true;
    const attempt = new StepAttempt(step, this);
    this.#attempts.add(attempt);
    attempt.start();
  }

  /** Stores waits before any later step starts. */
  async #store(): Promise<void> {
    this.#isStoring = true;
    try {
      if (this.#patches.length > 0) {
        const id = String(this.replay.size);
        const key = entryKey({ role: 'patches', generation: this.delivery.envelope.replays, id, attempt: 0 });
        await this.record(key, JSON.stringify(this.#patches.splice(0)));
      }
      const waits: RunWait[] = [];
      for (let step = this.replay.held; step !== undefined && !isReady(step); step = this.replay.held) {
        this.replay.takeHeld();
        const wait = await this.#createWait(step);
        if (wait !== undefined) waits.push(wait);
      }
      if (waits.length > 0 && !this.#isOver) {
        const result = await this.delivery.wait(waits);
        if (result === 'fenced') this.#stop();
      }
    } catch (error) {
      this.#release(error);
    } finally {
      this.#isStoring = false;
      this.schedule();
    }
  }

  async #createWait(step: RequestedStep): Promise<RunWait | undefined> {
    const { now } = this.host.transport.clock;
    const generation = this.delivery.envelope.replays;
    if (isAttempted(step)) {
      const { attempt = 1, retryAt = 0 } = step.failed ?? {};
      const key = entryKey({ role: 'retry', generation, id: step.id, attempt });
      return { key, delayMs: Math.max(0, retryAt - now()), isRetry: true };
    }
    const key = entryKey({ role: step.kind, generation, id: step.id, attempt: 0 });
    const startedAt = now();
    try {
      return await step.createWait(key);
    } catch (error) {
      const { version } = this.workflow;
      const { attempt: delivery } = this.delivery;
      const entry = { version, delivery, attempt: 1, startedAt, durationMs: 0, error: this.host.redactor.info(error) };
      await this.record(key, writeEntry(entry));
      return undefined;
    }
  }

  /** Nothing runs, nothing is being recorded, and the function waits for steps that only the transport can resolve. */
  #isIdle(): boolean {
    const isBusy = this.#attempts.size > 0 || this.#recording > 0 || this.#holds > 0 || this.#isStoring;
    return !isBusy && this.replay.isAtEnd && this.replay.hasRequests;
  }

  #suspend(): void {
    this.#end();
    if (this.#needsDelivery) this.#recorder.release(0);
    else this.#recorder.suspend(this.replay.size);
  }

  #complete(result: unknown): void {
    if (this.#isOver) return;
    const { name, isEvent, followUps } = this.workflow;
    if (isEvent === true && followUps.onSuccess === undefined && followUps.onComplete === undefined) {
      this.#stop();
      this.#recorder.complete('null');
      return;
    }
    let json: string;
    try {
      json = encodePayload(result ?? null, name, this.host.maxPayloadBytes, 'result');
    } catch (error) {
      this.#fail(error, 'final');
      return;
    }
    this.#warnOfUnreached();
    this.#stop();
    this.#recorder.complete(json);
  }

  /** @param isFinal `final` if a retry would fail again */
  #fail(error: unknown, isFinal?: 'final'): void {
    if (this.#isOver) return;
    this.#stop();
    const { isEvent, retry } = this.workflow;
    if (isEvent === true && isFinal === undefined) {
      this.#recorder.retryOrFail(error, retry, this.delivery.attempt);
      return;
    }
    const source = this.#failures.sourceOf(error);
    if (source === undefined) {
      this.#recorder.fail(error);
      return;
    }
    const { slot, failure, thrown } = source;
    const generation = this.delivery.envelope.replays;
    const key = entryKey({ role: 'ended', generation, id: String(generation), attempt: 0 });
    // A second delivery that comes to the same end finds the entry recorded: the outcome counts, not the entry.
    void this.delivery
      .checkpoint(key, JSON.stringify(slot))
      .catch(() => {})
      .then(() => this.#recorder.fail(thrown, failure));
  }

  #failVersion(): void {
    const requested = this.replay.requestedSlots.slice(0, 3).join(', ');
    this.#fail(new WorkflowVersionError(this.workflow.name, `the step ${this.replay.nextSlot}`, requested));
  }

  #warnOfUnreached(): void {
    const steps = this.replay.unreachedSlots();
    if (steps.length > 0) this.#log('warn', { steps }, 'run completed without reaching steps that it recorded');
  }

  /** Gives the run up in this process: the transport could not record what it did. */
  #release(error: unknown): void {
    if (this.#isOver) return;
    if (isFatal(error)) {
      this.#fail(error);
      return;
    }
    this.#log('error', { err: error }, 'run released: the transport could not record a step');
    this.#stop();
    this.#recorder.release(releaseDelayMs);
  }

  #stop(reason?: Error): void {
    if (this.#isOver) return;
    this.#end(reason);
    if (reason !== undefined) this.#tools.abort(reason);
    // Steps that the function did not await lose their effect.
    for (const attempt of this.#attempts) attempt.cancel(reason ?? new AttemptEndedError('a step of the run'));
    this.#attempts.clear();
  }

  #end(reason?: Error): void {
    this.#isOver = true;
    for (const leave of this.#leaves.splice(0)) leave(reason);
    this.delivery.onRecorded = undefined;
    this.delivery.onRevoked = undefined;
  }

  #log(level: 'debug' | 'warn' | 'error', fields: object, message: string): void {
    const { id: runId, requestId } = this.delivery.envelope;
    const { attempt } = this.delivery;
    const { name, isEvent } = this.workflow;
    const identity = isEvent === true ? { eventType: name, eventId: runId } : { workflow: name, runId };
    this.host.logger[level]({ ...fields, requestId, ...identity, attempt }, message);
  }
}

function isAttempted(step: RequestedStep): step is AttemptedStep {
  return isAttemptedKind(step.kind);
}

/** A step whose attempt failed is not ready before the time of its retry. */
function isReady(step: RequestedStep): step is AttemptedStep {
  return isAttempted(step) && (step.failed === undefined || step.failed.isDue);
}
