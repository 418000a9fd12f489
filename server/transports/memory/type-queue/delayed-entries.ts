import type { Clock } from '../../clock.js';
import type { Envelope, Subscription } from '../../transport.js';
import { DebounceWindows } from '../queues/debounce-windows.js';
import { DelayQueue } from '../queues/delay-queue.js';
import type { Entry } from '../records/entry.js';
import type { QueueSpill } from '../spill/queue-spill.js';
import type { TypeStats } from '../statistics/type-stats.js';

/** Delayed entries of one type, among them those that wait in a debounce window. */
export class DelayedEntries {
  readonly #queue = new DelayQueue<Entry>();
  readonly #stats: TypeStats;
  readonly #spill: QueueSpill | undefined;
  #windows: DebounceWindows<Entry> | undefined;

  constructor(stats: TypeStats, spill: QueueSpill | undefined) {
    this.#stats = stats;
    this.#spill = spill;
  }

  setDebounce(debounce: Subscription['debounce']): void {
    this.#windows = debounce === undefined ? undefined : new DebounceWindows(debounce, this.#windows);
  }

  /** Due time of the first entry; infinite if there is none. */
  get nextDueAt(): number {
    return Math.min(
      this.#queue.nextDueAt ?? Number.POSITIVE_INFINITY,
      this.#spill?.nextDueAt ?? Number.POSITIVE_INFINITY,
    );
  }

  /** Time at which {@link shift} can return an entry; infinite if only an event of the hub changes it. */
  get nextWakeAt(): number {
    return Math.min(
      this.#queue.nextDueAt ?? Number.POSITIVE_INFINITY,
      this.#spill?.nextWakeAt ?? Number.POSITIVE_INFINITY,
    );
  }

  push(entry: Entry, dueAt: number): void {
    entry.dueAt = dueAt;
    this.#stats.delayed += 1;
    if (this.#spill !== undefined && !this.isDebounced(entry) && this.#spill.takesDelayed(entry, dueAt)) return;
    this.#queue.push(entry, dueAt);
  }

  /** Adds an entry that was read from the storage. */
  pushRead(entry: Entry, dueAt: number): void {
    this.#queue.push(entry, dueAt);
  }

  /** Reads the spilled entries that are due. Returns the time until which all that are due are in memory. */
  readDue(now: number): number {
    if (this.#spill === undefined) return now;
    const { entries, until } = this.#spill.readDue(now);
    for (const entry of entries) this.pushRead(entry, entry.dueAt ?? now);
    return until;
  }

  /** Removes and returns the first entry in memory if it is due at `until`. */
  shift(until: number): Entry | undefined {
    const entry = this.#queue.shift(until);
    if (entry !== undefined) this.#end(entry);
    return entry;
  }

  /** Returns `true` if the entry was delayed, and in memory. */
  remove(entry: Entry): boolean {
    const isRemoved = this.#queue.remove(entry);
    if (isRemoved) this.#end(entry);
    return isRemoved;
  }

  /** Entries in memory, in no order. */
  items(): Iterable<Entry> {
    return this.#queue.items();
  }

  /** Opens the debounce window of a new entry. Returns its end; `undefined` if the type is not debounced. */
  openWindow(entry: Entry, clock: Clock): number | undefined {
    return this.#windows?.open(entry, clock.monotonic());
  }

  /** Opens the debounce window of a restored entry again. */
  restoreWindow(entry: Entry, openedAt: number): void {
    this.#windows?.restore(entry, openedAt);
  }

  /** Returns `true` if the entry waits in a debounce window. */
  isDebounced(entry: Entry): boolean {
    return this.#windows?.find(entry.envelope.key) === entry;
  }

  /** Returns `true` if the event would replace the payload of an event that waits in its debounce window. */
  hasWindow(envelope: Envelope): boolean {
    return this.#windows?.find(envelope.key) !== undefined;
  }

  /**
   * Replaces the payload of the event that waits in the debounce window of the key, and extends the window.
   * Returns the waiting entry and its new due time; `undefined` if there is none.
   */
  debounce(envelope: Envelope, clock: Clock): { readonly entry: Entry; readonly dueAt: number } | undefined {
    const entry = this.#windows?.find(envelope.key);
    if (this.#windows === undefined || entry === undefined) return undefined;
    const { id, dedupe } = entry.envelope;
    entry.envelope = { ...envelope, body: envelope.body, id, dedupe };
    const dueAt = this.#windows.extend(entry, clock.monotonic());
    this.#queue.remove(entry);
    this.#queue.push(entry, dueAt);
    entry.dueAt = dueAt;
    this.#stats.countDeduplicated();
    return { entry, dueAt };
  }

  #end(entry: Entry): void {
    this.#windows?.close(entry);
    entry.dueAt = undefined;
    this.#stats.delayed -= 1;
    this.#stats.markChanged();
  }
}
