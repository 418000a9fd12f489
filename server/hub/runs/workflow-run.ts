import { AsyncResource } from 'node:async_hooks';
import { isFatal } from '../../errors.js';
import { type Delivery, type Envelope, listen } from '../../transports/delivery.js';
import { AttemptEndedError, type StepFailedError, StoredPayloadError } from '../errors.js';
import { Draft } from '../events/emit.js';
import { preflightError } from '../events/outcome-recorder.js';
import { rejectionOf, type SchemaResult } from '../events/payload-schema.js';
import {
  type AttemptedStep,
  isTurn,
  type RequestedStep,
  type RunHost,
  type SteppedRun,
  type TurnStep,
} from './requested-step.js';
import type { StepEntry } from './run-entry.js';
import { RunOutcome } from './run-outcome.js';
import { Replay, type StepRequest } from './run-replay.js';
import { EntryWriter, isReady, WaitWriter, type WriterCallbacks } from './run-writer.js';
import type { RunFunction } from './step.js';
import { type AttemptRun, type RunningAttempt, RunningAttempts, StepAttempt, TurnAttempt } from './step-attempt.js';
import { StepTools } from './step-tools.js';
import type { RunDefinition } from './workflow.js';

/** Advances a run for one delivery. */
export function runWorkflow(workflow: RunDefinition, delivery: Delivery, host: RunHost): void {
  new WorkflowRun(workflow, delivery, host).start();
}

/**
 * One delivery of a run. Calls the workflow's function from its first line, replays what is recorded, starts the steps
 * that are not, and suspends the run when only waits are left. The promise of a suspended function never settles:
 * nothing refers to it, and the function is called again by the delivery that resumes the run.
 */
class WorkflowRun implements AttemptRun, SteppedRun, WriterCallbacks {
  readonly workflow: RunDefinition;
  readonly delivery: Delivery;
  readonly host: RunHost;
  readonly replay: Replay<RequestedStep>;
  input: unknown;
  readonly #outcome: RunOutcome;
  readonly #idle = new IdleCallback(() => this.#advance());
  readonly #attempts = new RunningAttempts();
  readonly #writer: EntryWriter;
  readonly #waits: WaitWriter;
  readonly #tools: StepTools;
  #holds = 0;
  #leaves: ((reason?: Error) => void)[] = [];
  /** A step that contains others is due again: only another delivery replays what it contains. */
  #needsDelivery = false;
  #isOver = false;

  constructor(workflow: RunDefinition, delivery: Delivery, host: RunHost) {
    this.workflow = workflow;
    this.delivery = delivery;
    this.host = host;
    this.replay = new Replay(delivery.checkpoints, delivery.envelope.replays);
    this.#outcome = new RunOutcome(this);
    this.#tools = new StepTools(this);
    this.#writer = new EntryWriter(delivery, this);
    this.#waits = new WaitWriter(this, this);
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
      this.#outcome.release(0, lastVersion);
      return;
    }
    listen(
      this.delivery,
      (reason) => this.#stop(reason),
      (key, value) => {
        this.replay.entries.append(key, value, this.#writer.take(key, value));
        this.schedule();
      },
    );
    this.#validate();
  }

  request(step: RequestedStep): void {
    this.replay.request(step);
    this.schedule();
  }

  removeRequest(step: TurnStep): void {
    this.replay.removeRequest(step);
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
    this.#waits.addPatch(id);
  }

  failed(step: StepRequest, error: StepFailedError): void {
    this.#outcome.addFailure(step, error);
  }

  /** Advances the run when the function is idle. */
  schedule(): void {
    if (!this.#isOver) this.#idle.schedule();
  }

  record(key: string, value: string, emits?: readonly Envelope[], parsed?: StepEntry): Promise<void> | undefined {
    return this.#isOver ? undefined : this.#writer.record(key, value, emits, parsed);
  }

  onFenced(): void {
    this.#stop();
  }

  onError(error: unknown): void {
    this.#release(error);
  }

  onEnd(): void {
    this.schedule();
  }

  awaitFunction(returned: Promise<void>): void {
    this.#attempts.addFunction(returned);
  }

  get unfinished(): Promise<void> | undefined {
    return this.#attempts.unfinished;
  }

  attemptEnded(attempt: RunningAttempt): void {
    this.#attempts.delete(attempt);
  }

  threw(step: StepRequest, thrown: unknown): void {
    this.#outcome.addThrown(step, thrown);
  }

  /** Checks the input that an event brought. That of `startWorkflow` was checked when it was accepted. */
  #validate(): void {
    try {
      this.input = Draft.takePayload(this.delivery.envelope);
    } catch (cause) {
      this.#stop();
      this.#outcome.failUnreadable(new StoredPayloadError(this.workflow.name, cause));
      return;
    }
    const { name, input: schema } = this.workflow;
    if (schema === undefined || this.replay.entries.size > 0) {
      this.#call();
      return;
    }
    const conclude = (result: SchemaResult): void => {
      const error = rejectionOf(name, schema, result);
      if (error !== undefined) this.#fail(error, 'final');
      else if (!this.#isOver) this.#call();
    };
    try {
      const result = schema.validate(this.input);
      if (result instanceof Promise) result.then(conclude, (error: unknown) => this.#fail(error));
      else conclude(result);
    } catch (error) {
      this.#fail(error);
    }
  }

  #call(): void {
    // `createWorkflow` sets it. The public type keeps users from calling it.
    const run = this.workflow.run as RunFunction;
    const call = async (): Promise<unknown> => run(this.#tools);
    call().then(
      (result) => this.#complete(result),
      (error: unknown) => this.#fail(error),
    );
    this.schedule();
  }

  #advance(): void {
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
          this.#startSteps();
          return;
        default:
      }
    }
  }

  /** Starts steps that are not recorded, in the order in which the function asked for them. */
  #startSteps(): void {
    if (this.#waits.isStoring) return;
    for (let step = this.replay.nextToStart; step !== undefined; step = this.replay.nextToStart) {
      if (this.#waits.hasPatches || !isReady(step)) {
        void this.#waits.store();
        return;
      }
      this.replay.takeNext();
      this.#attempt(step);
      if (this.#isOver) return;
    }
    if (this.#isIdle()) this.#suspend();
  }

  #attempt(step: AttemptedStep | TurnStep): void {
    const contained = isTurn(step) ? undefined : step.contained;
    if (contained?.isOver === true) {
      this.#needsDelivery = true;
      return;
    }
    if (contained !== undefined) contained.isOver = true;
    const attempt = isTurn(step) ? new TurnAttempt(step, this) : new StepAttempt(step, this);
    this.#attempts.add(attempt);
    attempt.start();
  }

  /** Nothing runs, nothing is being recorded, and the function waits for steps that only the transport can resolve. */
  #isIdle(): boolean {
    const isBusy = this.#attempts.size > 0 || this.#writer.isRecording || this.#waits.isStoring || this.#holds > 0;
    return !isBusy && this.replay.isAtEnd && this.replay.hasRequests;
  }

  #suspend(): void {
    this.#end();
    if (this.#needsDelivery) this.#outcome.release(0);
    else this.#outcome.suspend();
  }

  #complete(result: unknown): void {
    if (this.#isOver) return;
    try {
      const json = this.#outcome.encode(result);
      if (typeof json === 'string') this.#conclude(json);
      else json.then((stored) => this.#conclude(stored)).catch((error: unknown) => this.#fail(error, 'final'));
    } catch (error) {
      this.#fail(error, 'final');
    }
  }

  #conclude(json: string): void {
    if (this.#isOver) return;
    const { refusal } = this.#tools;
    if (refusal !== undefined) this.#outcome.log('warn', { err: refusal }, 'run completed although a step was refused');
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
    if (this.#attempts.size > 0) this.#attempts.cancel(reason ?? new AttemptEndedError('a step of the run'));
  }

  #end(reason?: Error): void {
    this.#isOver = true;
    for (const leave of this.#leaves.splice(0)) leave(reason);
    this.delivery.onRecorded = undefined;
    this.delivery.onRevoked = undefined;
  }
}

// A function that it calls costs less than one of `queueMicrotask`, which creates an AsyncResource.
const microtask = Promise.resolve();

/** Calls a function in the context of its creation when the code of a run has come to rest. */
class IdleCallback {
  readonly #onIdle: () => void;
  /** Entries are recorded in the contexts of other runs and of timers. */
  readonly #resource = new AsyncResource('hubline.run');
  #isScheduled = false;

  constructor(onIdle: () => void) {
    this.#onIdle = onIdle;
  }

  /** Calls the function once, however often it is scheduled before. */
  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    void microtask.then(this.#wait);
  }

  // A tick that a microtask asks for runs when no microtask is left: the function then waits for steps alone.
  readonly #wait = (): void => process.nextTick(this.#call);

  readonly #call = (): void => {
    this.#isScheduled = false;
    this.#resource.runInAsyncScope(this.#onIdle);
  };
}
