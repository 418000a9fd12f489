import type { Delivery, Envelope } from '../../../transports/transport.js';
import { AttemptEmitter } from '../../events/attempts/attempt-emitter.js';
import { type CallCallbacks, HandlerCall } from '../../events/attempts/handler-call.js';
import type { HandlerHost } from '../../events/attempts/outcome-recorder.js';
import { encodePayload } from '../../events/payloads/payload.js';
import { nextDelayMs } from '../../events/definition/retry-policy.js';
import { startStep } from '../../observability/observe-step.js';
import { StepResult } from '../definition/durable-place.js';
import type { RunDefinition } from '../definition/run-definition.js';
import { StepContext } from '../definition/step-context.js';
import type { StepRequest } from './replay.js';
import type { AttemptedStep } from './requested-step.js';
import { type AttemptedKind, entryKey, type StepEntry, slotOf, writeEntry } from './run-entry.js';

/** Maximum size of a model's answer or a tool's result: both are paid, and the agent's own limits bound them. */
const maxTurnBytes = 16 * 1_024 * 1_024;

/** Run whose steps are attempted. */
export interface AttemptRun {
  readonly workflow: RunDefinition;
  readonly delivery: Delivery;
  readonly host: HandlerHost;
  /** Input of the run as its function receives it. */
  readonly input: unknown;
  /** Removes a step whose failure is not recorded. */
  withdraw(step: AttemptedStep): void;
  /** Records an entry with the events that it emitted. Never rejects. */
  record(key: string, value: string, emits?: readonly Envelope[]): Promise<void>;
  /** Called once, when the attempt holds its process no longer. `thrown` is the error of a terminal failure. */
  attemptEnded(attempt: StepAttempt, thrown?: unknown): void;
}

/** One attempt at a step: calls its function and records the result, the failure, or the failed attempt. */
export class StepAttempt implements CallCallbacks {
  readonly step: AttemptedStep;
  readonly #run: AttemptRun;
  readonly #attempt: number;
  readonly #emitter: AttemptEmitter;
  readonly #call: HandlerCall;
  readonly #startedAt: number;
  readonly #startedMonotonic: number;

  constructor(step: AttemptedStep, run: AttemptRun) {
    const { workflow, delivery, host } = run;
    const { clock } = host.transport;
    this.step = step;
    this.#run = run;
    this.#attempt = attemptNumber(step, delivery.attempt);
    this.#emitter = new AttemptEmitter(host, delivery.envelope, `${slotOf(step.kind, step.id)}:emit:`);
    const operation = isObserved(step) ? startStep(workflow.name, step.id, this.#attempt) : undefined;
    this.#call = new HandlerCall(`${workflow.name}: ${step.id}`, step.options.timeoutMs, clock, this, operation);
    this.#startedAt = step.contained?.startedAt ?? clock.now();
    this.#startedMonotonic = step.contained?.startedMonotonic ?? clock.monotonic();
  }

  start(): void {
    const { workflow, delivery, host, input } = this.#run;
    const { id: runId, requestId, depth, body } = delivery.envelope;
    const { id, options } = this.step;
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
    const context = new StepContext(fields, this.#emitter, host, identity);
    this.#call.invoke((ctx: StepContext) => this.step.call(ctx), context);
  }

  /** Ends the attempt without a record. `reason` aborts the step's function. */
  cancel(reason: Error): void {
    this.#emitter.close();
    this.#call.cancel(reason);
  }

  onReturn(returned: unknown): void {
    const result = returned instanceof StepResult ? returned : undefined;
    const value = result === undefined ? returned : result.value;
    if (result?.emits === false) this.#emitter.close();
    const { workflow, host } = this.#run;
    const isTurn = this.step.kind === 'model' || this.step.kind === 'tool';
    const maxBytes = isTurn ? Math.max(maxTurnBytes, host.maxPayloadBytes) : host.maxPayloadBytes;
    let output: string;
    try {
      output = encodePayload(value ?? null, workflow.name, maxBytes, `output of step ${this.step.id}`);
    } catch (error) {
      // A retry would repeat the step's work and return the same value.
      this.#fail(error);
      return;
    }
    const entry = result === undefined ? this.#entry() : { ...this.#entry(), turn: result.turn };
    void this.#run.record(this.#key(this.step.kind), writeEntry(entry, output), this.#emitter.close());
    this.#run.attemptEnded(this);
  }

  onThrow(error: unknown): void {
    this.#emitter.close();
    if (this.#reject(error)) return;
    const proceed = (delayMs: number | undefined): void => {
      if (delayMs === undefined) this.#fail(error);
      else this.#retry(error, delayMs);
    };
    const failTerminally = (retryIfError: unknown): void => {
      this.#log('error', { err: retryIfError }, 'retryIf threw, so the failure is terminal');
      this.#fail(error);
    };
    try {
      const delayMs = nextDelayMs(this.step.options.retry, this.#attempt, error);
      if (delayMs instanceof Promise) void delayMs.then(proceed, failTerminally);
      else proceed(delayMs);
    } catch (retryIfError) {
      failTerminally(retryIfError);
    }
  }

  /** Passes a failure that is not recorded to the run's function. */
  #reject(error: unknown): boolean {
    const { reject } = this.step;
    if (reject === undefined) return false;
    this.#run.attemptEnded(this);
    this.#run.withdraw(this.step);
    reject(error);
    return true;
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
    if (this.#reject(error)) return;
    void this.#run.record(
      this.#key(this.step.kind),
      writeEntry({ ...this.#entry(), error: this.#run.host.redactor.info(error) }),
    );
    this.#log('warn', { err: error }, 'step failed');
    this.#run.attemptEnded(this, error);
  }

  #entry(): StepEntry {
    const { workflow, delivery, host } = this.#run;
    const { turn } = this.step;
    return {
      version: workflow.version,
      delivery: delivery.attempt,
      attempt: this.#attempt,
      startedAt: this.#startedAt,
      durationMs: Math.round((host.transport.clock.monotonic() - this.#startedMonotonic) * 1_000) / 1_000,
      ...(turn !== undefined && { turn }),
    };
  }

  #key(role: AttemptedKind | 'attempt'): string {
    const generation = this.#run.delivery.envelope.replays;
    return entryKey({ role, generation, id: this.step.id, attempt: role === 'attempt' ? this.#attempt : 0 });
  }

  #log(level: 'warn' | 'error', fields: object, message: string): void {
    const { workflow, delivery, host } = this.#run;
    const { id: runId, requestId } = delivery.envelope;
    const identity = { requestId, workflow: workflow.name, runId, step: this.step.id, attempt: this.#attempt };
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
