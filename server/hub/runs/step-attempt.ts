import type { ErrorInfo } from '../../errors.js';
import type { CommitResult, Delivery, Envelope, TransactionRecord } from '../../transports/delivery.js';
import { AttemptEmitter, type PublishingAttempt, type TransactionalAttempt } from '../events/attempt-ctx.js';
import { StepResult } from '../events/durable-place.js';
import { type EndedAttempt, EndingTransaction } from '../events/ending-transaction.js';
import { type CallCallbacks, HandlerCall } from '../events/handler-call.js';
import type { LiveOutput, OutputWriter } from '../events/live-output.js';
import { checkSize, encodeResult } from '../events/payload.js';
import type { TurnFacts } from '../events/reported-agents.js';
import { nextDelayMs } from '../events/retry-policy.js';
import type { Permit } from '../limits/limit-keeper.js';
import { startStep } from '../observability.js';
import type { AttemptedStep, AttemptScope, RunHost } from './requested-step.js';
import { type AttemptedKind, entryKey, entryOutput, type StepEntry, writeEntry } from './run-entry.js';
import type { StepRequest } from './run-replay.js';
import { StepAttemptCtx } from './step.js';
import type { RunDefinition } from './workflow.js';

/** Maximum size of a model's answer or a tool's result: both are paid, and the agent's own limits bound them. */
const maxTurnBytes = 16 * 1_024 * 1_024;

const none: readonly Envelope[] = [];

/** One attempt at a step: calls its function and records the result, the failure, or the failed attempt. */
export class StepAttempt
  implements AttemptScope, CallCallbacks, RunningAttempt, PublishingAttempt, TransactionalAttempt, EndedAttempt
{
  index = 0;
  readonly #step: AttemptedStep;
  readonly #run: AttemptRun;
  readonly #attempt: number;
  readonly #call: HandlerCall;
  readonly #startedAt: number;
  readonly #startedMonotonic: number;
  #emitter: AttemptEmitter | undefined;
  #ctx: StepAttemptCtx | undefined;
  #writer: OutputWriter | undefined;
  #transaction: EndingTransaction | undefined;
  readonly #permit: Permit | undefined;
  #isOver = false;

  /** @param permit of the step's limit; returned when its function has returned */
  constructor(step: AttemptedStep, run: AttemptRun, permit?: Permit) {
    const { workflow, delivery, host } = run;
    const { clock } = host.transport;
    const { timeoutMs, contained } = step.options;
    this.#step = step;
    this.#run = run;
    this.#permit = permit;
    this.#attempt = attemptNumber(step, delivery.attempt);
    const operation = isObserved(step) ? startStep(workflow.name, step.id, this.#attempt) : undefined;
    this.#call = new HandlerCall(`${workflow.name}: ${step.id}`, timeoutMs, clock, this, operation);
    this.#startedAt = contained?.startedAt ?? clock.now();
    this.#startedMonotonic = contained?.startedMonotonic ?? clock.monotonic();
  }

  // Created on first use, like the context: most steps of agents emit nothing.
  get emitter(): AttemptEmitter {
    if (this.#emitter === undefined) {
      const { delivery, host } = this.#run;
      this.#emitter = new AttemptEmitter(host.publisher, delivery.envelope, `${this.#step.slot}:emit:`, this);
      if (this.#isOver) this.#emitter.close();
    }
    return this.#emitter;
  }

  get output(): OutputWriter {
    this.#writer ??= this.#run.output.writer(this.#step.id, this.#attempt);
    if (this.#isOver) this.#writer.close();
    return this.#writer;
  }

  get transport(): string {
    return this.#run.host.transport.name;
  }

  get delivery(): EndedAttempt['delivery'] {
    const { transact } = this.#run.delivery;
    return {
      transact: transact && ((work, settings) => this.#run.recordWithin(() => transact(work, settings))),
    };
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  // Created on first use: most steps have none.
  get transaction(): EndingTransaction {
    this.#transaction ??= new EndingTransaction(this);
    return this.#transaction;
  }

  async record(value: unknown): Promise<TransactionRecord> {
    if (this.#writer !== undefined) await this.#run.output.flush();
    return { key: this.#key(this.#step.kind), value: this.#write(this.#entry(), value), emits: this.emitter.emitted };
  }

  onCommitted(): void {
    this.#end();
  }

  onLost(error: unknown): void {
    this.#run.onError(error);
  }

  get ctx(): StepAttemptCtx {
    this.#ctx ??= this.#createCtx();
    return this.#ctx;
  }

  start(): void {
    this.#call.invoke(this.#step.call, this);
  }

  abort(reason: Error): void {
    this.#ctx?.abort(reason);
  }

  cancel(reason: Error): Promise<void> | undefined {
    this.#isOver = true;
    this.#emitter?.close();
    this.#writer?.close();
    this.#call.cancel(reason);
    if (this.#permit !== undefined) this.#release(this.#permit);
    return this.#unfinished;
  }

  onReturn(returned: unknown): void {
    if (this.#transaction === undefined) this.#record(returned);
    else this.#transaction.settle(() => this.#returnAfter(returned));
  }

  /** The result of a committed transaction is that of the step. */
  #returnAfter(returned: unknown): void {
    if (this.#transaction?.isCommitted === true) this.#run.attemptEnded(this);
    else this.#record(returned);
  }

  #record(returned: unknown): void {
    const emitted = this.#end();
    const result = returned instanceof StepResult ? returned : undefined;
    const entry = this.#entry(result?.facts);
    let json: string;
    try {
      json = result?.isJson
        ? this.#writePlain(entry, result.value)
        : this.#write(entry, result ? result.value : returned);
    } catch (error) {
      // A retry would repeat the step's work and return the same value.
      this.#fail(error);
      return;
    }
    this.#step.result = result;
    void this.#run.record(this.#key(this.#step.kind), json, result?.emits === false ? none : emitted, entry);
    this.#run.attemptEnded(this);
  }

  onThrow(error: unknown): void {
    this.#end();
    if (this.#transaction === undefined) this.#failAttempt(error);
    else this.#transaction.settle(() => this.#throwAfter(error));
  }

  #throwAfter(error: unknown): void {
    if (this.#transaction?.isCommitted !== true) {
      this.#failAttempt(error);
      return;
    }
    this.#log('error', { err: error }, 'the step threw after its transaction had recorded its result');
    this.#run.attemptEnded(this);
  }

  #failAttempt(error: unknown): void {
    const { retry } = this.#step.options;
    const unfinished = this.#unfinished;
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
      const delayMs = nextDelayMs(retry, this.#attempt, error);
      if (delayMs instanceof Promise) void delayMs.then(proceed, failTerminally);
      else proceed(delayMs);
    } catch (retryIfError) {
      failTerminally(retryIfError);
    }
  }

  /** Refuses further events, and returns the collected ones. */
  #end(): readonly Envelope[] {
    this.#isOver = true;
    this.#writer?.close();
    if (this.#permit !== undefined) this.#release(this.#permit);
    return this.#emitter?.close() ?? none;
  }

  #release(permit: Permit): void {
    const { unfinished } = this.#call;
    if (unfinished === undefined) void permit.release();
    else void unfinished.then(() => permit.release());
  }

  /** Only a user's function may ignore its signal: those of agents end with the signal of the agent, or never. */
  get #unfinished(): Promise<void> | undefined {
    return this.#ctx && this.#call.unfinished;
  }

  #createCtx(): StepAttemptCtx {
    const { workflow, delivery, host, input } = this.#run;
    const { id: runId, requestId, depth, body } = delivery.envelope;
    const { id, options } = this.#step;
    const { view } = options;
    const fields = {
      requestId,
      eventType: workflow.name,
      eventId: runId,
      // Parsed per attempt: a step of a list may change what it receives.
      payload: view === undefined ? input : (JSON.parse(view.payload) as unknown),
      attempt: this.#attempt,
      depth,
      idempotencyKey: `${host.transport.service}:${runId}:${id}`,
    };
    return new StepAttemptCtx(
      fields,
      this.emitter,
      host,
      { workflow: workflow.name, runId, step: id, body, view },
      this,
    );
  }

  #retry(error: unknown, delayMs: number): void {
    const retryAt = this.#run.host.transport.clock.now() + delayMs;
    const entry = { ...this.#entry(), error: this.#count(error), retryAt };
    void this.#run.record(this.#key('attempt'), writeEntry(entry));
    this.#log('warn', { err: error, delayMs }, 'attempt failed');
    this.#run.attemptEnded(this);
  }

  #fail(error: unknown): void {
    const { kind, reject } = this.#step;
    if (reject !== undefined) {
      this.#run.attemptEnded(this);
      this.#run.removeRequest(this.#step);
      reject(error);
      return;
    }
    const entry = { ...this.#entry(), error: this.#count(error) };
    void this.#run.record(this.#key(kind), writeEntry(entry));
    this.#log('warn', { err: error }, 'step failed');
    this.#run.threw(this.#step, error);
    this.#run.attemptEnded(this);
  }

  /** Counts a failed attempt, and returns what is recorded of its error. */
  #count(thrown: unknown): ErrorInfo {
    const { workflow, delivery, host } = this.#run;
    const { id, requestId, type } = delivery.envelope;
    const error = host.redactor.info(thrown);
    // An event that an agent handles has attempts of its own.
    if (workflow.isEvent === true) return error;
    const at = host.transport.clock.now();
    host.errors.count({
      type,
      id,
      requestId,
      at,
      attempt: this.#attempt,
      step: this.#step.id,
      error,
      isTerminal: false,
    });
    return error;
  }

  #write(entry: StepEntry, value: unknown): string {
    return writeEntry(entry, encodeResult(value ?? null, this.#run.workflow.name, this.#maxBytes, this.#root));
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

  #entry(facts: TurnFacts | undefined = this.#step.options.facts): StepEntry {
    const { workflow, delivery, host } = this.#run;
    const entry = {
      version: workflow.version,
      delivery: delivery.attempt,
      attempt: this.#attempt,
      startedAt: this.#startedAt,
      durationMs: Math.round((host.transport.clock.monotonic() - this.#startedMonotonic) * 1_000) / 1_000,
    };
    return facts === undefined ? entry : { ...entry, turn: facts };
  }

  #key(role: AttemptedKind | 'attempt'): string {
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
function isObserved({ kind, options }: AttemptedStep): boolean {
  return (kind === 'run' && options.contained === undefined) || kind === 'emit';
}

/** Counts the recorded failures of the step, and the deliveries that ended without a record since the last one. */
function attemptNumber({ failed, firstDelivery }: StepRequest, delivery: number): number {
  if (failed === undefined) return Math.max(1, delivery - firstDelivery + 1);
  return failed.attempt + Math.max(1, delivery - failed.delivery + 1);
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
  readonly output: LiveOutput;
  /** Removes a step whose failure is not recorded. */
  removeRequest(step: AttemptedStep): void;
  /** Records an entry with the events that it emitted. Never rejects. @param parsed the value without its output */
  record(key: string, value: string, emits?: readonly Envelope[], parsed?: StepEntry): Promise<void> | undefined;
  /** Waits for a transaction that records an entry. Rejects as it does. */
  recordWithin(commit: () => Promise<CommitResult>): Promise<CommitResult>;
  /** The transport could not record an entry. */
  onError(error: unknown): void;
  /** Called once, when the attempt holds its process no longer. */
  attemptEnded(attempt: RunningAttempt): void;
  /** Keeps a slot of the process until a function that runs on has returned. */
  awaitFunction(returned: Promise<void>): void;
  /** Remembers the error of a terminal failure. */
  threw(step: AttemptedStep, thrown: unknown): void;
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
