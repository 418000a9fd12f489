import { AsyncResource } from 'node:async_hooks';
import { isFatal } from '../../../errors.js';
import type { Delivery, Envelope, RunWait } from '../../../transports/transport.js';
import { AttemptEndedError, StoredPayloadError } from '../../errors.js';
import { type HandlerHost, preflightError } from '../../events/attempts/outcome-recorder.js';
import type { RunDefinition } from '../definition/run-definition.js';
import type { RunFunction, RunScope } from '../definition/run-scope.js';
import type { StepFailedError } from '../errors.js';
import { checkInput } from './check-input.js';
import { createWait, isReady } from './create-wait.js';
import { Replay, type StepRequest } from './replay.js';
import type { AttemptedStep, RequestedStep, StepHost } from './requested-step.js';
import { entryKey } from './run-entry.js';
import { RunOutcome } from './run-outcome.js';
import { type AttemptRun, StepAttempt } from './step-attempt.js';
import { StepTools } from './step-tools.js';

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
  readonly #outcome: RunOutcome;
  /** Context of the delivery: entries are recorded in the contexts of other runs and of timers. */
  readonly #resource = new AsyncResource('hubline.run');
  readonly #attempts = new Set<StepAttempt>();
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
    this.#outcome = new RunOutcome(this);
    this.#tools = new StepTools(this);
  }

  start(): void {
    const { name, version } = this.workflow;
    const error = preflightError(name, this.delivery);
    if (error !== undefined) {
      this.#outcome.fail(error, 'final');
      return;
    }
    const { lastVersion = version } = this.replay.entries;
    if (lastVersion > version) {
      this.#outcome.log(
        'debug',
        { version, lastVersion },
        'run released: a higher version of the workflow advanced it',
      );
      this.#outcome.release();
      return;
    }
    this.delivery.onRevoked = (reason) => this.#stop(reason);
    this.delivery.onRecorded = (key, value) => {
      this.replay.entries.append(key, value);
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
    this.#outcome.addFailure(step, error);
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
    if (thrown !== undefined) this.#outcome.addThrown(attempt.step, thrown);
  }

  /** Checks the input that an event brought. That of `startWorkflow` was checked when it was accepted. */
  #validate(): void {
    try {
      this.input = JSON.parse(this.delivery.envelope.body);
    } catch (cause) {
      this.#stop();
      this.#outcome.failUnreadable(new StoredPayloadError(this.workflow.name, cause));
      return;
    }
    if (this.workflow.input === undefined || this.replay.entries.size > 0) {
      this.#call();
      return;
    }
    checkInput(this.workflow, this.input, {
      onValid: () => {
        if (!this.#isOver) this.#call();
      },
      onInvalid: (error, isFinal) => this.#fail(error, isFinal),
    });
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
          if (this.replay.hasRequests) this.#fail(this.#outcome.versionError());
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
        const id = String(this.replay.entries.size);
        const key = entryKey({ role: 'patches', generation: this.delivery.envelope.replays, id, attempt: 0 });
        await this.record(key, JSON.stringify(this.#patches.splice(0)));
      }
      const waits: RunWait[] = [];
      for (let step = this.replay.held; step !== undefined && !isReady(step); step = this.replay.held) {
        this.replay.takeHeld();
        const wait = await createWait(this, step);
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

  /** Nothing runs, nothing is being recorded, and the function waits for steps that only the transport can resolve. */
  #isIdle(): boolean {
    const isBusy = this.#attempts.size > 0 || this.#recording > 0 || this.#holds > 0 || this.#isStoring;
    return !isBusy && this.replay.isAtEnd && this.replay.hasRequests;
  }

  #suspend(): void {
    this.#end();
    if (this.#needsDelivery) this.#outcome.release(0);
    else this.#outcome.suspend();
  }

  #complete(result: unknown): void {
    if (this.#isOver) return;
    let json: string;
    try {
      json = this.#outcome.encode(result);
    } catch (error) {
      this.#fail(error, 'final');
      return;
    }
    this.#stop();
    this.#outcome.complete(json);
  }

  #fail(error: unknown, isFinal?: 'final'): void {
    if (this.#isOver) return;
    this.#stop();
    this.#outcome.fail(error, isFinal);
  }

  /** Gives the run up in this process: the transport could not record what it did. */
  #release(error: unknown): void {
    if (this.#isOver) return;
    if (isFatal(error)) {
      this.#fail(error);
      return;
    }
    this.#outcome.log('error', { err: error }, 'run released: the transport could not record a step');
    this.#stop();
    this.#outcome.release();
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
}
