import type { CommitResult, Delivery, Envelope, RunWait } from '../../transports/delivery.js';
import type { AttemptedStep, RequestedStep, SteppedRun } from './requested-step.js';
import { entryKey, isAttemptedKind, type StepEntry, writeEntry, writePatches } from './run-entry.js';

/** Entry that is being recorded. */
interface WrittenEntry {
  readonly key: string;
  readonly value: string;
  /** The value without its output. */
  readonly parsed: StepEntry;
}

/** Callbacks of a writer that stores parts of a run's record. */
export interface WriterCallbacks {
  /** The delivery no longer holds the run. */
  onFenced(): void;
  /** The transport could not store a part. */
  onError(error: unknown): void;
  /** Called after each part, whatever its result. */
  onEnd(): void;
}

/** Records the entries of one delivery of a run. */
export class EntryWriter {
  readonly #delivery: Delivery;
  readonly #callbacks: WriterCallbacks;
  /** Entries that need not be parsed again. */
  readonly #written: WrittenEntry[] = [];
  #recording = 0;

  constructor(delivery: Delivery, callbacks: WriterCallbacks) {
    this.#delivery = delivery;
    this.#callbacks = callbacks;
  }

  /** An entry is being recorded. */
  get isRecording(): boolean {
    return this.#recording > 0;
  }

  /**
   * Records an entry. Never rejects. Not async: a transport in memory records at once, and a promise per step costs as
   * much as the record.
   *
   * @param parsed the value without its output
   */
  record(key: string, value: string, emits?: readonly Envelope[], parsed?: StepEntry): Promise<void> | undefined {
    if (parsed !== undefined) this.#written.push({ key, value, parsed });
    try {
      const result = this.#delivery.checkpoint(key, value, emits);
      if (result instanceof Promise) return this.#awaitResult(result);
      if (result === 'fenced') this.#callbacks.onFenced();
    } catch (error) {
      this.#callbacks.onError(error);
    }
    this.#callbacks.onEnd();
    return undefined;
  }

  /** Waits for a transaction that records an entry. Rejects as it does. */
  async recordWithin(commit: () => Promise<CommitResult>): Promise<CommitResult> {
    this.#recording += 1;
    try {
      const result = await commit();
      if (result === 'fenced') this.#callbacks.onFenced();
      return result;
    } finally {
      this.#recording -= 1;
      this.#callbacks.onEnd();
    }
  }

  /** Returns what reading a recorded entry would return, if this process wrote it. */
  take(key: string, value: string): StepEntry | undefined {
    const index = this.#written.findIndex((entry) => entry.key === key);
    if (index === -1) return undefined;
    const [written] = this.#written.splice(index, 1);
    return written?.value === value ? written.parsed : undefined;
  }

  async #awaitResult(recorded: Promise<CommitResult>): Promise<void> {
    this.#recording += 1;
    try {
      if ((await recorded) === 'fenced') this.#callbacks.onFenced();
    } catch (error) {
      this.#callbacks.onError(error);
    } finally {
      this.#recording -= 1;
      this.#callbacks.onEnd();
    }
  }
}

/** Stores the waits and patches of one delivery of a run, before any later step starts. */
export class WaitWriter {
  readonly #run: SteppedRun;
  readonly #callbacks: WriterCallbacks;
  readonly #patches: string[] = [];
  #isStoring = false;

  constructor(run: SteppedRun, callbacks: WriterCallbacks) {
    this.#run = run;
    this.#callbacks = callbacks;
  }

  /** A wait or a patch is being stored. */
  get isStoring(): boolean {
    return this.#isStoring;
  }

  /** Patches have to be stored before the next step starts. */
  get hasPatches(): boolean {
    return this.#patches.length > 0;
  }

  addPatch(id: string): void {
    this.#patches.push(id);
  }

  /** Stores all patches, and the waits of the steps that are next. Never rejects. */
  async store(): Promise<void> {
    const { delivery, replay, workflow } = this.#run;
    this.#isStoring = true;
    try {
      if (this.#patches.length > 0) {
        const id = String(replay.entries.size);
        const key = entryKey({ role: 'patches', generation: delivery.envelope.replays, id, attempt: 0 });
        await this.#run.record(key, writePatches({ version: workflow.version, names: this.#patches.splice(0) }));
      }
      const waits = await createWaits(this.#run);
      // The run replays what is before a wait that has ended.
      await this.#run.flushOutput();
      if (waits.length > 0 && !this.#run.isOver && (await delivery.wait(waits)) === 'fenced') {
        this.#callbacks.onFenced();
      }
    } catch (error) {
      this.#callbacks.onError(error);
    } finally {
      this.#isStoring = false;
      this.#callbacks.onEnd();
    }
  }
}

/** Returns `true` for a step that may start. One whose attempt failed is not ready before the time of its retry. */
export function isReady(step: RequestedStep): step is AttemptedStep {
  return isAttempted(step) && (step.failed === undefined || step.failed.isDue);
}

/** Returns `true` for a step that runs a function of this process. */
function isAttempted(step: RequestedStep): step is AttemptedStep {
  return isAttemptedKind(step.kind);
}

/** Returns `true` for a step that waits for its time or an event, and starts nothing. */
export function onlyWaits(step: RequestedStep): boolean {
  return !isReady(step) && step.kind !== 'invoke' && step.kind !== 'approval';
}

/** Takes the steps that are not ready from the front of those that wait for their start, and creates their waits. */
async function createWaits(run: SteppedRun): Promise<RunWait[]> {
  const { replay } = run;
  const waits: RunWait[] = [];
  for (let step = replay.nextToStart; step !== undefined && !isReady(step); step = replay.nextToStart) {
    if (run.isHeld && !onlyWaits(step)) break;
    replay.takeNext();
    const wait = await createWait(run, step);
    if (wait !== undefined) waits.push(wait);
  }
  return waits;
}

/**
 * Resolves with the wait for a step that is not ready. A step that cannot create its wait has failed: this is recorded,
 * and there is no wait.
 */
async function createWait(run: SteppedRun, step: RequestedStep): Promise<RunWait | undefined> {
  const { workflow, delivery, host } = run;
  const { now } = host.transport.clock;
  const generation = delivery.envelope.replays;
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
    const times = { attempt: 1, startedAt, durationMs: 0 };
    const entry = { version: workflow.version, delivery: delivery.attempt, ...times, error: host.redactor.info(error) };
    await run.record(key, writeEntry(entry));
    const { id: runId, requestId } = delivery.envelope;
    const identity = { requestId, workflow: workflow.name, runId, step: step.id, attempt: 1 };
    host.logger.warn({ err: error, ...identity }, 'step failed');
    return undefined;
  }
}
