import type { AwaitedEvent, CancelReason, Envelope, RunWait } from '../delivery.js';
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
  /** Keys of the waits that are to decide about the event; `undefined` if the run receives it for all of its waits. */
  readonly waits: readonly string[] | undefined;
  /** Conditions that refused the event: keys of waits, and types of reasons to cancel as {@link cancelKey} writes them. */
  readonly refusedBy: string[];
  /** A wait has taken the event, which may still be a reason to cancel. */
  isTaken: boolean;
}

/** Returns the name of a reason to cancel, which no wait has for a key. */
export function cancelKey(type: string): string {
  return `cancel ${type}`;
}

/** Events that a run keeps from its acceptance on. */
export interface InboxConditions {
  readonly receives: readonly AwaitedEvent[];
  readonly cancelOn: readonly CancelReason[];
}

/** Wait as a broker stores it: of a run, or the record of its inbox, or an event in it. They end together with the run. */
export interface StoredCondition extends RunWait {
  /** Events that the run keeps, and number of those that it dropped. */
  readonly inbox?: InboxConditions & { readonly dropped: number };
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
export class Inbox<T extends Stored> implements InboxConditions {
  /** Stored record. */
  readonly stored: T;
  readonly receives: readonly AwaitedEvent[];
  readonly cancelOn: readonly CancelReason[];
  #dropped: number;
  /** Monotonic time of the last report that events were dropped. */
  reportedAt: number = Number.NEGATIVE_INFINITY;
  #next = 0;
  #bytes = 0;
  // Most inboxes are empty most of the time.
  #kept: T[] = [];

  constructor(stored: T, { receives, cancelOn, dropped }: NonNullable<StoredCondition['inbox']>) {
    this.stored = stored;
    this.receives = receives;
    this.cancelOn = cancelOn;
    this.#dropped = dropped;
  }

  get record(): InboxRecord {
    return { kept: this.#kept.length, dropped: this.#dropped };
  }

  get kept(): readonly T[] {
    return this.#kept;
  }

  /** Returns the stored form of an event that is added. @param waits those that are to decide about it */
  next(envelope: Envelope, waits: readonly string[]): StoredCondition {
    const { type, key, id, requestId, body } = envelope;
    const kept = { type, key, id, requestId, body, refusedBy: [], isTaken: false };
    return { key: keptKey(this.#next), kept: { ...kept, waits: this.receivesEvent(envelope) ? undefined : waits } };
  }

  /** Returns `true` if the run keeps the event for all of its waits. */
  receivesEvent(event: Pick<Envelope, 'type' | 'key'>): boolean {
    return this.receives.some((awaited) => matchesEvent(awaited, event));
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
    return { key: inboxKey, inbox: { receives: this.receives, cancelOn: this.cancelOn, dropped: this.#dropped } };
  }

  /** Returns a kept event. */
  find(key: string): T | undefined {
    return this.#kept.find(({ wait }) => wait.key === key);
  }

  remove(stored: T): void {
    const index = this.#kept.indexOf(stored);
    if (index === -1) return;
    this.#kept.splice(index, 1);
    this.#bytes -= bytesOf(stored);
  }
}

/** Returns `true` if an event is one that a condition awaits. */
export function matchesEvent({ type, key }: AwaitedEvent, event: Pick<Envelope, 'type' | 'key'>): boolean {
  return event.type === type && (key === undefined || event.key === key);
}

function bytesOf({ wait: { kept } }: Stored): number {
  return kept === undefined ? 0 : Buffer.byteLength(kept.body);
}
