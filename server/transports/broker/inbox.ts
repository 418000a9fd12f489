import type { AwaitedEvent, Envelope, RunWait } from '../delivery.js';
import type { InboxRecord } from '../event-record.js';
import { maxKeptBytes, maxKeptEvents } from '../limits.js';

/** Event that a run has kept, until a wait takes it. */
export interface KeptEvent {
  readonly type: string;
  readonly key: string | undefined;
  readonly id: string;
  readonly requestId: string;
  /** Payload as JSON. */
  readonly body: string;
}

/** Wait as a broker stores it: of a run, or the record of its inbox, or an event in it. They end together with the run. */
export interface StoredCondition extends RunWait {
  /** Events that the run keeps, and number of those that it dropped. */
  readonly inbox?: { readonly receives: readonly AwaitedEvent[]; readonly dropped: number };
  readonly kept?: KeptEvent;
}

/** Stored condition. */
interface Stored {
  readonly wait: StoredCondition;
}

/** Key of the stored record of an inbox. No step of a run has it. */
export const inboxKey = 'inbox';

/** Returns the key of a kept event. In the order of the keys the inbox comes first, and then its events in their order. */
function keptKey(number: number): string {
  return `kept ${String(number).padStart(12, '0')}`;
}

/** Returns `true` for a condition that a step of the run waits for. */
export function isOfStep({ wait }: Stored): boolean {
  return wait.inbox === undefined && wait.kept === undefined;
}

/** Events that a run keeps from its acceptance on, until its waits take them. @typeParam T stored condition */
export class Inbox<T extends Stored> {
  /** Stored record. */
  readonly stored: T;
  readonly receives: readonly AwaitedEvent[];
  #dropped: number;
  #next = 0;
  #bytes = 0;
  // Most inboxes are empty most of the time.
  #kept: T[] = [];

  constructor(stored: T, { receives, dropped }: NonNullable<StoredCondition['inbox']>) {
    this.stored = stored;
    this.receives = receives;
    this.#dropped = dropped;
  }

  get record(): InboxRecord {
    return { kept: this.#kept.length, dropped: this.#dropped };
  }

  get kept(): readonly T[] {
    return this.#kept;
  }

  /** Returns the stored form of an event that is added. */
  next({ type, key, id, requestId, body }: Envelope): StoredCondition {
    return { key: keptKey(this.#next), kept: { type, key, id, requestId, body } };
  }

  /** Adds a stored event. */
  add(stored: T): void {
    this.#next = Number(stored.wait.key.slice(keptKey(0).indexOf(' ') + 1)) + 1;
    this.#bytes += bytesOf(stored);
    this.#kept.push(stored);
  }

  /** Returns the oldest event if there are too many. */
  get excess(): T | undefined {
    const isFull = this.#kept.length > maxKeptEvents || (this.#bytes > maxKeptBytes && this.#kept.length > 1);
    return isFull ? this.#kept[0] : undefined;
  }

  /** Counts a dropped event. Returns the new form of the record. */
  drop(): StoredCondition {
    this.#dropped += 1;
    return { key: inboxKey, inbox: { receives: this.receives, dropped: this.#dropped } };
  }

  /** Returns the oldest event that a wait matches. */
  find({ type, key }: AwaitedEvent): T | undefined {
    return this.#kept.find(({ wait: { kept } }) => kept?.type === type && (key === undefined || kept.key === key));
  }

  remove(stored: T): void {
    const index = this.#kept.indexOf(stored);
    if (index === -1) return;
    this.#kept.splice(index, 1);
    this.#bytes -= bytesOf(stored);
  }
}

function bytesOf({ wait: { kept } }: Stored): number {
  return kept === undefined ? 0 : Buffer.byteLength(kept.body);
}
