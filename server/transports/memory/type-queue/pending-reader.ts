import type { AcceptanceOrder } from '../records/acceptance-order.js';
import type { Entry } from '../records/entry.js';
import { type EventFilter, matchesFilter } from '../records/event-filter.js';
import type { QueueSpill } from '../spill/queue-spill.js';

/** Finds pending entries of one type, those of the storage included. */
export class PendingReader {
  readonly #accepted: AcceptanceOrder;
  readonly #spill: QueueSpill | undefined;

  constructor(accepted: AcceptanceOrder, spill: QueueSpill | undefined) {
    this.#accepted = accepted;
    this.#spill = spill;
  }

  /** An entry is pending. */
  get hasPending(): boolean {
    return this.#accepted.oldest !== undefined || this.#spill?.hasPending === true;
  }

  /** Time at which the oldest entry was accepted. */
  get oldestAt(): number | undefined {
    return this.#spill === undefined ? this.#accepted.oldest?.acceptedAt : this.#spill.oldestPendingAt;
  }

  /** Returns the entries of an event or a request. */
  find(filter: EventFilter): readonly Entry[] {
    const inMemory = [...this.#inMemory()].filter(({ envelope }) => matchesFilter(filter, envelope));
    return [...inMemory, ...this.findSpilled(filter)];
  }

  /** Returns the entries of an event or a request that the storage alone has. */
  findSpilled(filter: EventFilter): readonly Entry[] {
    return this.#spill?.find(filter) ?? [];
  }

  /** Returns the number of entries of a request. */
  countOf(requestId: string): number {
    let count = this.#spill?.count(requestId) ?? 0;
    for (const { envelope } of this.#inMemory()) if (envelope.requestId === requestId) count += 1;
    return count;
  }

  /** Returns the entries that were accepted last, newest first. */
  newest(limit: number): readonly Entry[] {
    const newest: Entry[] = [];
    for (const entry of this.#accepted.newestFirst()) {
      if (newest.length === limit) break;
      newest.push(entry);
    }
    if (this.#spill === undefined) return newest;
    const position = ({ record }: Entry): number => record?.position ?? 0;
    return [...newest, ...this.#spill.inMemory(), ...this.#spill.find({ newest: limit })]
      .sort((a, b) => position(b) - position(a))
      .slice(0, limit);
  }

  *#inMemory(): Iterable<Entry> {
    yield* this.#accepted.newestFirst();
    yield* this.#spill?.inMemory() ?? [];
  }
}
