import { AsyncResource } from 'node:async_hooks';
import { isFatal, quote } from '../../errors.js';
import { type CommitResult, type Delivery, type Envelope, listen } from '../../transports/delivery.js';
import { AttemptEndedError, type StepFailedError, StoredPayloadError } from '../errors.js';
import { accepts, triggerOf } from '../events/condition.js';
import { Draft } from '../events/emit.js';
import { LiveOutput } from '../events/live-output.js';
import { preflightError } from '../events/outcome-recorder.js';
import { rejectionOf, type SchemaResult } from '../events/payload-schema.js';
import type { Limit } from '../limits/limit.js';
import { longestWaitMs, type Permit } from '../limits/limit-keeper.js';
import { OfferedEvents } from './offered-events.js';
import type { AttemptedStep, RequestedStep, RunHost, SteppedRun } from './requested-step.js';
import type { StepEntry } from './run-entry.js';
import { RunOutcome } from './run-outcome.js';
import { Replay, type StepRequest } from './run-replay.js';
import { EntryWriter, isReady, onlyWaits, WaitWriter, type WriterCallbacks } from './run-writer.js';
import type { RunFunction } from './step.js';
import { type AttemptRun, type RunningAttempt, RunningAttempts, StepAttempt } from './step-attempt.js';
import { StepTools } from './step-tools.js';
import type { RunDefinition } from './workflow.js';

/** Advances a run for one delivery. */
export function runWorkflow(workflow: RunDefinition, delivery: Delivery, host: RunHost): void {
  new WorkflowRun(workflow, delivery, host).start();
}

/**
 * Creates a run that replays its record, and starts no step that is not recorded. The delivery receives the outcome if the
 * run ends.
 *
 * @param onReplayed called whenever the function is at rest and every recorded entry is released
 */
export function createReplay(
  workflow: RunDefinition,
  delivery: Delivery,
  host: RunHost,
  onReplayed: () => void,
): Pick<WorkflowRun, 'replay' | 'start'> {
  return new WorkflowRun(workflow, delivery, host, onReplayed);
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
  readonly #onReplayed: (() => void) | undefined;
  #decisions: OfferedEvents | undefined;
  #holds = 0;
  #leaves: ((reason?: Error) => void)[] = [];
  /** A step that contains others is due again: only another delivery replays what it contains. */
  #needsDelivery = false;
  /** Ends the wait for a change of the pauses. */
  #endListening: (() => void) | undefined;
  /** Steps that ask for a permit of their limit, and those that have to wait for longer. */
  #acquiring = 0;
  readonly #limited = new Set<{ readonly dueAt: number }>();
  #isOver = false;
  #output: LiveOutput | undefined;

  /** @param onReplayed called in place of starting steps, see {@link createReplay} */
  constructor(workflow: RunDefinition, delivery: Delivery, host: RunHost, onReplayed?: () => void) {
    this.#onReplayed = onReplayed;
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
      (reason) => {
        this.#stop(reason);
        return this.unfinished;
      },
      (key, value) => {
        this.replay.entries.append(key, value, this.#writer.take(key, value));
        this.schedule();
      },
      () => {
        void this.#offers?.decideCancel();
        this.schedule();
      },
    );
    const cancelling = this.#offers?.decideCancel();
    if (cancelling === undefined) this.#validate();
    else void cancelling.then((isEnded) => isEnded || this.#isOver || this.#validate());
  }

  request(step: RequestedStep): void {
    this.replay.request(step);
    this.schedule();
  }

  removeRequest(step: AttemptedStep): void {
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
    if (this.#isOver) return undefined;
    const flushed = this.flushOutput();
    if (flushed === undefined) return this.#writer.record(key, value, emits, parsed);
    // What a step published is stored when its result is: nothing publishes it again.
    const release = this.hold();
    return flushed.then(() => {
      const recorded = this.#isOver ? undefined : this.#writer.record(key, value, emits, parsed);
      release();
      return recorded;
    });
  }

  get output(): LiveOutput {
    this.#output ??= new LiveOutput(this.delivery.envelope, true, this.host);
    return this.#output;
  }

  flushOutput(): Promise<void> | undefined {
    return this.#output?.flush();
  }

  recordWithin(commit: () => Promise<CommitResult>): Promise<CommitResult> {
    return this.#writer.recordWithin(commit);
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
    if (this.replay.entries.size > 0) {
      this.#call();
      return;
    }
    if (schema === undefined) {
      this.#decide();
      return;
    }
    const conclude = (result: SchemaResult): void => {
      const error = rejectionOf(name, schema, result);
      if (error !== undefined) this.#fail(error, 'final');
      else if (!this.#isOver) this.#decide();
    };
    try {
      const result = schema.validate(this.input);
      if (result instanceof Promise) result.then(conclude, (error: unknown) => this.#fail(error));
      else conclude(result);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Asks the condition of the trigger or the handler, unless it has let the event pass before. */
  #decide(): void {
    const { delivery, host, workflow } = this;
    const { isEvent, name, triggers = [] } = workflow;
    const { envelope } = delivery;
    const when = workflow.when ?? triggerOf(triggers, envelope, host.transport.service)?.when;
    if (when === undefined || delivery.isAdmitted) {
      this.#call();
      return;
    }
    try {
      if (accepts(when, envelope, `${isEvent === true ? 'event' : 'a trigger of workflow'} ${quote(name)}`)) {
        void this.#admit();
        return;
      }
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#stop();
    this.#outcome.filter();
  }

  async #admit(): Promise<void> {
    try {
      const result = await this.delivery.admit();
      if (this.#isOver) return;
      if (result === 'fenced') this.#stop();
      else this.#call();
    } catch (error) {
      this.#release(error);
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
          this.#tools.observer?.released();
          this.schedule();
          return;
        case 'unrequested':
          // Without any request the function awaits something that is no step, and may ask for it later.
          if (this.replay.hasRequests) this.#fail(this.#outcome.versionError());
          else this.#tools.observer?.rested(() => this.#isAtRest());
          return;
        case 'end':
          if (this.#onReplayed === undefined) this.#startSteps();
          else this.#onReplayed();
          return;
        default:
      }
    }
  }

  /** Starts steps that are not recorded, in the order in which the function asked for them. */
  #startSteps(): void {
    if (this.#waits.isStoring) return;
    for (let step = this.replay.nextToStart; step !== undefined; step = this.replay.nextToStart) {
      // A wait that is not stored would miss its event.
      if (this.isHeld && !onlyWaits(step)) {
        this.#leaveHeld();
        return;
      }
      if (this.#waits.hasPatches || !isReady(step)) {
        void this.#waits.store();
        return;
      }
      this.replay.takeNext();
      this.#attempt(step);
      if (this.#isOver) return;
    }
    this.#offers?.decideWaits(this.#isIdle());
    if (this.#isIdle()) this.#suspend();
    else if (this.#isAtRest()) this.#tools.observer?.rested(() => this.#isAtRest());
  }

  /** Decides about the events that are offered to the run. Most runs have none. */
  get #offers(): OfferedEvents | undefined {
    if (this.delivery.offers.length > 0) this.#decisions ??= new OfferedEvents(this, this);
    return this.#decisions;
  }

  get isHeld(): boolean {
    return this.host.pauses.holds(this.delivery.envelope.type);
  }

  /** Releases the run, once nothing of it runs. The transport holds it until it is resumed. */
  #leaveHeld(): void {
    if (this.#isBusy) {
      this.#endListening ??= this.host.pauses.onChange(() => this.schedule());
      return;
    }
    this.#end();
    this.#outcome.release(0);
  }

  #attempt(step: AttemptedStep): void {
    const { contained } = step.options;
    if (contained?.isOver === true) {
      this.#needsDelivery = true;
      return;
    }
    if (contained !== undefined) contained.isOver = true;
    const isUsers = step.kind === 'run' && contained === undefined;
    const limit = step.options.limit ?? (isUsers ? this.workflow.limit : undefined);
    if (limit === undefined) this.#begin(step);
    else void this.#awaitPermit(step, limit);
  }

  #begin(step: AttemptedStep, permit?: Permit): void {
    const attempt = new StepAttempt(step, this, permit);
    this.#attempts.add(attempt);
    attempt.start();
  }

  /** Begins an attempt as soon as its limit allows. A run of which nothing else goes on leaves the process meanwhile. */
  async #awaitPermit(step: AttemptedStep, limit: Limit): Promise<void> {
    const isOver = (): boolean => this.#isOver;
    const { agentParts, transport } = this.host;
    let endWait = (): void => {};
    this.onLeave(() => endWait());
    while (!this.#isOver) {
      let permit: Permit | number;
      this.#acquiring += 1;
      try {
        permit = await agentParts.limits.acquire(limit, { maxWaitMs: longestWaitMs, isOver });
      } catch (error) {
        this.#release(error);
        return;
      } finally {
        this.#acquiring -= 1;
      }
      if (typeof permit !== 'number' && !this.isHeld) {
        this.#begin(step, permit);
        return;
      }
      if (typeof permit !== 'number') void permit.release();
      const waitMs = typeof permit === 'number' ? permit : longestWaitMs;
      const waiting = { dueAt: transport.clock.monotonic() + waitMs };
      this.#limited.add(waiting);
      this.schedule();
      await new Promise<void>((resolve) => {
        const timer = transport.clock.after(waitMs, resolve);
        endWait = () => {
          timer.cancel();
          resolve();
        };
      });
      this.#limited.delete(waiting);
    }
  }

  /** Something runs, or is being recorded. */
  get #isBusy(): boolean {
    const isActive = this.#attempts.size > 0 || this.#acquiring > 0 || this.#holds > 0;
    return isActive || this.#writer.isRecording || this.#waits.isStoring || this.#decisions?.isDeciding === true;
  }

  /** The function awaits no step. */
  #isAtRest(): boolean {
    return !this.#isOver && !this.#isBusy && !this.replay.hasRequests;
  }

  /** The function waits for steps that only the transport can resolve. */
  #isIdle(): boolean {
    return !this.#isBusy && this.replay.isAtEnd && this.replay.hasRequests;
  }

  #suspend(): void {
    const dueAt = Math.min(...[...this.#limited].map((waiting) => waiting.dueAt));
    this.#end();
    if (this.#needsDelivery) this.#outcome.release(0);
    else if (dueAt < Number.POSITIVE_INFINITY) {
      this.#outcome.release(Math.max(1, dueAt - this.host.transport.clock.monotonic()));
    } else this.#outcome.suspend();
  }

  #complete(result: unknown): void {
    if (this.#isOver) return;
    this.#tools.observer?.returned();
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
    if (reason !== undefined) {
      this.#output?.discard();
      this.#tools.abort(reason);
    }
    // Steps that the function did not await lose their effect.
    if (this.#attempts.size > 0) this.#attempts.cancel(reason ?? new AttemptEndedError('a step of the run'));
  }

  #end(reason?: Error): void {
    this.#isOver = true;
    this.#endListening?.();
    for (const leave of this.#leaves.splice(0)) leave(reason);
    this.delivery.onRecorded = undefined;
    this.delivery.onOffered = undefined;
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
