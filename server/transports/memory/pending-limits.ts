import { BackpressureError } from '../errors.js';

/** Maximum number of pending events, and of the bytes of their payloads. */
export interface PendingMaximum {
  readonly maxPending: number;
  readonly maxPendingBytes: number;
}

/** Counts pending events and the bytes of their payloads, and refuses more than a maximum of each. */
export class PendingLimits {
  readonly #maximum: PendingMaximum;
  #events = 0;
  #bytes = 0;

  constructor(maximum: PendingMaximum) {
    this.#maximum = maximum;
  }

  /** @throws {BackpressureError} if so many more do not fit */
  checkRoom(events: number, bytes: number): void {
    const { maxPending, maxPendingBytes } = this.#maximum;
    if (this.#events + events > maxPending) throw new BackpressureError('pending events', `maxPending (${maxPending})`);
    if (this.#bytes + bytes > maxPendingBytes) {
      throw new BackpressureError('payloads of pending events', `maxPendingBytes (${maxPendingBytes})`);
    }
  }

  add(bytes: number): void {
    this.#events += 1;
    this.#bytes += bytes;
  }

  /** Counts stored events. */
  restore(events: number, bytes: number): void {
    this.#events += events;
    this.#bytes += bytes;
  }

  remove(bytes: number): void {
    this.#events -= 1;
    this.#bytes -= bytes;
  }

  /** Counts a payload that replaced another one. */
  resize(addedBytes: number): void {
    this.#bytes += addedBytes;
  }
}
