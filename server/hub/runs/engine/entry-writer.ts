import type { CommitResult, Delivery, Envelope } from '../../../transports/transport.js';
import type { StepEntry } from './replay/run-entry.js';

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
