import type { Delivery, Envelope } from '../../transports/delivery.js';
import { AttemptEmitter } from '../events/attempt-ctx.js';
import type { StepResult } from '../events/durable-place.js';
import { type CallCallbacks, HandlerCall } from '../events/handler-call.js';
import { checkSize, encodePayload, encodeResult } from '../events/payload.js';
import { nextDelayMs } from '../events/retry-policy.js';
import { startStep } from '../observability.js';
import type { AttemptedStep, RunHost, TurnStep } from './requested-step.js';
import { entryKey, entryOutput, type StepEntry, writeEntry } from './run-entry.js';
import type { StepRequest } from './run-replay.js';
import { StepAttemptCtx } from './step.js';
import type { RunDefinition } from './workflow.js';

/** One attempt at a step: calls its function and records the result, the failure, or the failed attempt. */
export class StepAttempt implements CallCallbacks, RunningAttempt {
  index = 0;
  readonly #step: AttemptedStep;
  readonly #run: AttemptRun;
  readonly #attempt: number;
  readonly #emitter: AttemptEmitter;
  readonly #call: HandlerCall;
  readonly #startedAt: number;
  readonly #startedMonotonic: number;

  constructor(step: AttemptedStep, run: AttemptRun) {
    const { workflow, delivery, host } = run;
    const { clock } = host.transport;
    this.#step = step;
    this.#run = run;
    this.#attempt = attemptNumber(step, delivery.attempt);
    this.#emitter = new AttemptEmitter(host.publisher, delivery.envelope, `${step.slot}:emit:`);
    const operation = isObserved(step) ? startStep(workflow.name, step.id, this.#attempt) : undefined;
    this.#call = new HandlerCall(`${workflow.name}: ${step.id}`, step.options.timeoutMs, clock, this, operation);
    this.#startedAt = step.contained?.startedAt ?? clock.now();
    this.#startedMonotonic = step.contained?.startedMonotonic ?? clock.monotonic();
  }

  start(): void {
    const { workflow, delivery, host, input } = this.#run;
    const { id: runId, requestId, depth, body } = delivery.envelope;
    const { id, options } = this.#step;
    const fields = {
      requestId,
      eventType: workflow.name,
      eventId: runId,
      // Parsed per attempt: a step of a list may change what it receives.
      payload: options.view === undefined ? input : (JSON.parse(options.view.payload) as unknown),
      attempt: this.#attempt,
      depth,
      idempotencyKey: `${host.transport.service}:${runId}:${id}`,
    };
    const identity = { workflow: workflow.name, runId, step: id, body, view: options.view };
    const context = new StepAttemptCtx(fields, this.#emitter, host, identity);
    this.#call.invoke((ctx: StepAttemptCtx) => this.#step.call(ctx), context);
  }

  cancel(reason: Error): Promise<void> | undefined {
    this.#emitter.close();
    this.#call.cancel(reason);
    return this.#call.unfinished;
  }

  onReturn(value: unknown): void {
    const { workflow, host } = this.#run;
    const root = `output of step ${this.#step.id}`;
    let output: string;
    try {
      output = encodeResult(value ?? null, workflow.name, host.maxPayloadBytes, root);
    } catch (error) {
      // A retry would repeat the step's work and return the same value.
      this.#fail(error);
      return;
    }
    const entry = this.#entry();
    void this.#run.record(this.#key(this.#step.kind), writeEntry(entry, output), this.#emitter.close(), entry);
    this.#run.attemptEnded(this);
  }

  onThrow(error: unknown): void {
    this.#emitter.close();
    const { unfinished } = this.#call;
    if (unfinished !== undefined) this.#run.awaitFunction(unfinished);
    const proceed = (delayMs: number | undefined): void => {
      if (delayMs === undefined) this.#fail(error);
      else this.#retry(error, delayMs);
    };
    const failTerminally = (retryIfError: unknown): void => {
      this.#log('error', { err: retryIfError }, 'retryIf threw, so the failure is terminal');
      this.#fail(error);
    };
    try {
      const delayMs = nextDelayMs(this.#step.options.retry, this.#attempt, error);
      if (delayMs instanceof Promise) void delayMs.then(proceed, failTerminally);
      else proceed(delayMs);
    } catch (retryIfError) {
      failTerminally(retryIfError);
    }
  }

  #retry(error: unknown, delayMs: number): void {
    const retryAt = this.#run.host.transport.clock.now() + delayMs;
    const entry = { ...this.#entry(), error: this.#run.host.redactor.info(error), retryAt };
    void this.#run.record(this.#key('attempt'), writeEntry(entry));
    this.#log('warn', { err: error, delayMs }, 'attempt failed');
    this.#run.attemptEnded(this);
  }

  #fail(error: unknown): void {
    this.#emitter.close();
    void this.#run.record(
      this.#key(this.#step.kind),
      writeEntry({ ...this.#entry(), error: this.#run.host.redactor.info(error) }),
    );
    this.#log('warn', { err: error }, 'step failed');
    this.#run.threw(this.#step, error);
    this.#run.attemptEnded(this);
  }

  #entry(): StepEntry {
    const { workflow, delivery, host } = this.#run;
    return {
      version: workflow.version,
      delivery: delivery.attempt,
      attempt: this.#attempt,
      startedAt: this.#startedAt,
      durationMs: Math.round((host.transport.clock.monotonic() - this.#startedMonotonic) * 1_000) / 1_000,
    };
  }

  #key(role: 'run' | 'emit' | 'attempt'): string {
    const generation = this.#run.delivery.envelope.replays;
    return entryKey({ role, generation, id: this.#step.id, attempt: role === 'attempt' ? this.#attempt : 0 });
  }

  #log(level: 'warn' | 'error', fields: object, message: string): void {
    const { workflow, delivery, host } = this.#run;
    const { id: runId, requestId } = delivery.envelope;
    const identity = { requestId, workflow: workflow.name, runId, step: this.#step.id, attempt: this.#attempt };
    host.logger[level]({ ...fields, ...identity }, message);
  }
}

/** The steps of agents have spans of their own. */
function isObserved({ kind, contained }: AttemptedStep): boolean {
  return (kind === 'run' && contained === undefined) || kind === 'emit';
}

/** Counts the recorded failures of the step, and the deliveries that ended without a record since the last one. */
function attemptNumber({ failed, firstDelivery }: StepRequest, delivery: number): number {
  if (failed === undefined) return Math.max(1, delivery - firstDelivery + 1);
  return failed.attempt + Math.max(1, delivery - failed.delivery + 1);
}

/** Maximum size of a model's answer or a tool's result: both are paid, and the agent's own limits bound them. */
const maxTurnBytes = 16 * 1_024 * 1_024;

const none: readonly Envelope[] = [];

/**
 * The attempt at a step of an agent. The agent has its own time limits, retries and spans, so there is one attempt per
 * delivery: it records the result, and the failure unless the agent handles it.
 */
export class TurnAttempt implements RunningAttempt {
  index = 0;
  readonly #step: TurnStep;
  readonly #run: AttemptRun;
  readonly #startedAt: number;
  readonly #startedMonotonic: number;
  #emitter: AttemptEmitter | undefined;
  #isOver = false;

  constructor(step: TurnStep, run: AttemptRun) {
    const { clock } = run.host.transport;
    this.#step = step;
    this.#run = run;
    this.#startedAt = clock.now();
    this.#startedMonotonic = clock.monotonic();
  }

  /** Collects what the step emits. Created on first use, because most steps emit nothing. */
  get emitter(): AttemptEmitter {
    if (this.#emitter === undefined) {
      const { delivery, host } = this.#run;
      this.#emitter = new AttemptEmitter(host.publisher, delivery.envelope, `${this.#step.slot}:emit:`);
      if (this.#isOver) this.#emitter.close();
    }
    return this.#emitter;
  }

  start(): void {
    try {
      const returned = this.#step.call(this);
      if (returned instanceof Promise) returned.then(this.#return, this.#throw);
      else this.#return(returned);
    } catch (error) {
      this.#throw(error);
    }
  }

  /** The agent's own signal aborts it. */
  cancel(): undefined {
    this.#end();
  }

  /** Refuses further events, and returns the collected ones. */
  #end(): readonly Envelope[] {
    this.#isOver = true;
    return this.#emitter?.close() ?? none;
  }

  readonly #return = (result: StepResult): void => {
    if (this.#isOver) return;
    const emitted = this.#end();
    const entry = this.#entry(result);
    let json: string;
    try {
      json = result.isJson ? this.#writePlain(entry, result.value) : this.#write(entry, result.value);
    } catch (error) {
      // Another attempt would repeat the step's work and return the same value.
      this.#fail(error);
      return;
    }
    this.#step.result = result;
    void this.#run.record(this.#key, json, result.emits ? emitted : none, entry);
    this.#run.attemptEnded(this);
  };

  readonly #throw = (error: unknown): void => {
    if (this.#isOver) return;
    this.#end();
    this.#fail(error);
  };

  #fail(error: unknown): void {
    const { host, workflow, delivery } = this.#run;
    const { id, reject } = this.#step;
    if (reject !== undefined) {
      this.#run.attemptEnded(this);
      this.#run.removeRequest(this.#step);
      reject(error);
      return;
    }
    const entry = { ...this.#entry(undefined), error: host.redactor.info(error) };
    void this.#run.record(this.#key, writeEntry(entry));
    const { id: runId, requestId } = delivery.envelope;
    const identity = { requestId, workflow: workflow.name, runId, step: id, attempt: entry.attempt };
    host.logger.warn({ err: error, ...identity }, 'step failed');
    this.#run.threw(this.#step, error);
    this.#run.attemptEnded(this);
  }

  #write(entry: StepEntry, value: unknown): string {
    return writeEntry(entry, encodePayload(value ?? null, this.#run.workflow.name, this.#maxBytes, this.#root));
  }

  /** Writes a value that consists of JSON values, together with its entry. */
  #writePlain(entry: StepEntry, output: unknown): string {
    const { version, delivery, attempt, startedAt, durationMs, turn } = entry;
    // No spread: it takes as long as the rest. The output comes last, as `readEntry` expects it.
    const json = JSON.stringify({ version, delivery, attempt, startedAt, durationMs, turn, output });
    checkSize(json, this.#run.workflow.name, this.#maxBytes, this.#root, entryOutput);
    return json;
  }

  get #maxBytes(): number {
    const { maxPayloadBytes } = this.#run.host;
    const { kind } = this.#step;
    return kind === 'model' || kind === 'tool' ? Math.max(maxTurnBytes, maxPayloadBytes) : maxPayloadBytes;
  }

  get #root(): string {
    return `output of step ${this.#step.id}`;
  }

  #entry(result: StepResult | undefined): StepEntry {
    const { workflow, delivery, host } = this.#run;
    const { firstDelivery, turn: ownFacts } = this.#step;
    const entry = {
      version: workflow.version,
      delivery: delivery.attempt,
      attempt: Math.max(1, delivery.attempt - firstDelivery + 1),
      startedAt: this.#startedAt,
      durationMs: Math.round((host.transport.clock.monotonic() - this.#startedMonotonic) * 1_000) / 1_000,
    };
    const turn = result?.turn ?? ownFacts;
    return turn === undefined ? entry : { ...entry, turn };
  }

  get #key(): string {
    const { kind, id, slot } = this.#step;
    const generation = this.#run.delivery.envelope.replays;
    return generation === 0 ? slot : entryKey({ role: kind, generation, id, attempt: 0 });
  }
}

/** Attempt at a step that has neither ended nor been cancelled. */
export interface RunningAttempt {
  /** Position in the list of its run, which sets it. */
  index: number;
  /**
   * Ends the attempt without a record. `reason` aborts the step's function. Returns a promise that resolves when the
   * function returns, if it may run on.
   */
  cancel(reason: Error): Promise<void> | undefined;
}

/** Run whose steps are attempted. */
export interface AttemptRun {
  readonly workflow: RunDefinition;
  readonly delivery: Delivery;
  readonly host: RunHost;
  /** Input of the run as its function receives it. */
  readonly input: unknown;
  /** Removes a step whose failure is not recorded. */
  removeRequest(step: TurnStep): void;
  /** Records an entry with the events that it emitted. Never rejects. @param parsed the value without its output */
  record(key: string, value: string, emits?: readonly Envelope[], parsed?: StepEntry): Promise<void> | undefined;
  /** Called once, when the attempt holds its process no longer. */
  attemptEnded(attempt: RunningAttempt): void;
  /** Keeps a slot of the process until a function that runs on has returned. */
  awaitFunction(returned: Promise<void>): void;
  /** Remembers the error of a terminal failure. */
  threw(step: AttemptedStep | TurnStep, thrown: unknown): void;
}

/** Attempts of a run that hold its process, and the functions of earlier ones that run on. */
export class RunningAttempts {
  // A Set allocates a table per addition and removal.
  readonly #attempts: RunningAttempt[] = [];
  /** Created on first use: few functions ignore their signal. */
  #functions: Set<Promise<void>> | undefined;

  get size(): number {
    return this.#attempts.length;
  }

  add(attempt: RunningAttempt): void {
    attempt.index = this.#attempts.push(attempt) - 1;
  }

  delete(attempt: RunningAttempt): void {
    const last = this.#attempts.pop();
    if (last === undefined || last === attempt) return;
    last.index = attempt.index;
    this.#attempts[last.index] = last;
  }

  /** Ends all attempts without records. @param reason aborts their functions */
  cancel(reason: Error): void {
    for (const attempt of this.#attempts.splice(0)) {
      const returned = attempt.cancel(reason);
      if (returned !== undefined) this.addFunction(returned);
    }
  }

  /** Adds a function whose attempt has ended. */
  addFunction(returned: Promise<void>): void {
    this.#functions ??= new Set();
    const functions = this.#functions.add(returned);
    void returned.then(() => functions.delete(returned));
  }

  /** Resolves when the functions that run on have returned; `undefined` if there are none. */
  get unfinished(): Promise<void> | undefined {
    if (this.#functions === undefined || this.#functions.size === 0) return undefined;
    return Promise.all(this.#functions).then(() => {});
  }
}
