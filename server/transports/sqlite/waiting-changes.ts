import { BackpressureError } from '../errors.js';

const maxChanges = 100_000;
const maxBytes = 512 * 1024 * 1024;

/** Bounds the number of the changes that wait for their transaction, and the bytes of their payloads. */
export class WaitingChanges {
  #bytes = 0;

  /** Returns the error for a change that does not fit. @param changes number of those that wait */
  refusal(changes: number, bytes: number): BackpressureError | undefined {
    if (changes >= maxChanges) return new BackpressureError('changes that are not stored yet', `${maxChanges}`);
    // A change alone is never too large.
    if (this.#bytes === 0 || this.#bytes + bytes <= maxBytes) return undefined;
    return new BackpressureError('bytes of changes that are not stored yet', `${maxBytes}`);
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  remove(bytes: number): void {
    this.#bytes -= bytes;
  }

  clear(): void {
    this.#bytes = 0;
  }
}
