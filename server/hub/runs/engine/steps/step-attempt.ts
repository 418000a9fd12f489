import { AttemptEmitter } from '../../../events/attempts/attempt-emitter.js';
import { type CallCallbacks, HandlerCall } from '../../../events/attempts/handler-call.js';
import { nextDelayMs } from '../../../events/definition/retry-policy.js';
import { encodeResult } from '../../../events/payloads/encode-result.js';
import { startStep } from '../../../observability/observe-step.js';
import { StepContext } from '../../definition/step-context.js';
import type { StepRequest } from '../replay/replay.js';
import { entryKey, type StepEntry, writeEntry } from '../replay/run-entry.js';
import type { AttemptRun, RunningAttempt } from './attempt-run.js';
import type { AttemptedStep } from './requested-step.js';

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
    this.#emitter = new AttemptEmitter(host, delivery.envelope, `${step.slot}:emit:`);
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
    const context = new StepContext(fields, this.#emitter, host, identity);
    this.#call.invoke((ctx: StepContext) => this.#step.call(ctx), context);
  }

  /** Ends the attempt without a record. `reason` aborts the step's function. */
  cancel(reason: Error): void {
    this.#emitter.close();
    this.#call.cancel(reason);
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
