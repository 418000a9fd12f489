import type { Envelope } from '../../../../transports/transport.js';
import { StepResult } from '../../../events/agent-support/durable-place.js';
import { AttemptEmitter } from '../../../events/attempts/attempt-emitter.js';
import { checkSize, encodePayload } from '../../../events/payloads/payload.js';
import { entryKey, entryOutput, type StepEntry, writeEntry } from '../replay/run-entry.js';
import type { AttemptRun, RunningAttempt } from './attempt-run.js';
import type { TurnStep } from './requested-step.js';

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
      this.#emitter = new AttemptEmitter(host, delivery.envelope, `${this.#step.slot}:emit:`);
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

  /** Ends the attempt without a record. The agent's own signal aborts it. */
  cancel(): void {
    this.#end();
  }

  /** Refuses further events, and returns the collected ones. */
  #end(): readonly Envelope[] {
    this.#isOver = true;
    return this.#emitter?.close() ?? none;
  }

  readonly #return = (returned: unknown): void => {
    if (this.#isOver) return;
    const emitted = this.#end();
    const result = returned instanceof StepResult ? returned : undefined;
    const entry = this.#entry(result);
    let json: string;
    try {
      json = result?.isJson === true ? this.#writePlain(entry, result.value) : this.#write(entry, result ?? returned);
    } catch (error) {
      // Another attempt would repeat the step's work and return the same value.
      this.#fail(error);
      return;
    }
    void this.#run.record(this.#key, json, result?.emits === false ? none : emitted, entry);
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
      this.#run.withdraw(this.#step);
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

  #write(entry: StepEntry, returned: unknown): string {
    const value = returned instanceof StepResult ? returned.value : returned;
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
