import type { KeyValueStore } from '../key-values.js';
import type { EventLookup } from '../transport.js';

/** A value of the blob store. It belongs to a request: its events and runs share what one of them stored. */
export interface IndexedBlob {
  readonly name: string;
  /** Type of the event or run that has stored it. */
  readonly type: string;
  /** Epoch milliseconds at which it was stored. */
  readonly at: number;
}

/** Functions of the process that sweeps. */
export interface BlobSweep {
  /** Removes a value from the blob store; returns `false` if it could not. */
  readonly remove: (name: string) => Promise<boolean>;
  /** The process closes: the next sweep continues. */
  readonly isOver: () => boolean;
}

const prefix = 'hubline:blobs:';
/** First period of which the requests have not been checked. */
const positionKey = `${prefix}position`;
/** Types of events whose payload another request may hold. */
const sharedKey = `${prefix}shared`;

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** A value that is stored may have yet to be accepted. */
const graceMs = hourMs;
/** The requests of a period are checked when it has ended. */
const periodMs = 6 * hourMs;
/** A run that took the payload of an event may be suspended for a year. */
const sharedMs = 400 * dayMs;
const pageSize = 1_000;
const periodsPerStep = 100;

/**
 * Index of the blob store, in the key-value store of the transport: the values of each request, and the period in which each
 * request is checked next. A value is in the index before it is in the blob store, so that a crash leaves no value that the
 * index does not know.
 */
export class BlobIndex {
  readonly #kv: KeyValueStore;
  readonly #lookup: EventLookup;
  readonly #shared = new Set<string>();
  #hasPosition = false;

  constructor(kv: KeyValueStore, lookup: EventLookup) {
    this.#kv = kv;
    this.#lookup = lookup;
  }

  /** Adds a value that is about to be stored. @param name returns its name */
  async add(requestId: string, type: string, name: (now: number) => string): Promise<string> {
    const at = await this.#kv.now();
    const added = name(at);
    const due = periodOf(at + graceMs) + 1;
    if (!this.#hasPosition) await this.#kv.set(positionKey, String(due), { ifAbsent: true });
    this.#hasPosition = true;
    await this.#kv.append(periodKey(due), [requestId]);
    await this.#change(requestKey(requestId), (known) => [...known, [added, type, at]]);
    return added;
  }

  /** Returns the values of a request. */
  async of(requestId: string): Promise<readonly IndexedBlob[]> {
    const text = await this.#kv.get(requestKey(requestId));
    return parse<[string, string, number]>(text).map(([name, type, at]) => ({ name, type, at }));
  }

  /** Removes values of a request. */
  async drop(requestId: string, names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    await this.#change<[string, string, number]>(requestKey(requestId), (known) => {
      return known.filter(([name]) => !names.includes(name));
    });
  }

  /** The types are all known as shared. */
  areShared(types: readonly string[]): boolean {
    return types.every((type) => this.#shared.has(type));
  }

  /**
   * Records types of events that runs wait for or keep, and types that are debounced: a run or event of another request may
   * hold the payload of such an event, so that it is kept for longer.
   */
  async share(types: readonly string[]): Promise<void> {
    if (this.areShared(types)) return;
    await this.#change<string>(sharedKey, (known) => [...new Set([...known, ...types])]);
    for (const type of types) this.#shared.add(type);
  }

  /**
   * Checks the requests that are due, and removes the values of those that are gone.
   *
   * @param now epoch milliseconds of the store
   */
  async sweep(now: number, { remove, isOver }: BlobSweep): Promise<void> {
    let position = Number((await this.#kv.get(positionKey)) ?? Number.NaN);
    // An absent position is no number: nothing was stored.
    while (position < periodOf(now)) {
      const end = Math.min(position + periodsPerStep, periodOf(now));
      const periods = Array.from({ length: end - position }, (_, n) => position + n);
      const firstPages = await Promise.all(periods.map((period) => this.#kv.range(periodKey(period), 0, pageSize - 1)));
      for (const [n, period] of periods.entries()) {
        await this.#checkPeriod(period, firstPages[n] ?? [], now, { remove, isOver });
        if (isOver()) return;
      }
      if (!(await this.#kv.compareAndSet(positionKey, String(position), String(end)))) return;
      position = end;
    }
  }

  async #checkPeriod(period: number, firstPage: readonly string[], now: number, sweep: BlobSweep): Promise<void> {
    const checked = new Set<string>();
    let page = firstPage;
    for (let from = 0; page.length > 0; from += pageSize) {
      if (from > 0) page = await this.#kv.range(periodKey(period), from, from + pageSize - 1);
      for (const requestId of page) {
        if (sweep.isOver()) return;
        if (!checked.has(requestId)) await this.#check(requestId, now, sweep);
        checked.add(requestId);
      }
    }
    if (checked.size > 0) await this.#kv.delete(periodKey(period));
  }

  async #check(requestId: string, now: number, { remove }: BlobSweep): Promise<void> {
    const known = await this.of(requestId);
    const [oldest] = known;
    if (oldest === undefined) return;
    const gone = (await this.#isHeld(requestId)) ? [] : await this.#expired(known, now);
    const removed: string[] = [];
    for (const { name } of gone) if (await remove(name)) removed.push(name);
    await this.drop(requestId, removed);
    if (removed.length === known.length) return;
    const due = now + Math.min(dayMs, Math.max(hourMs, now - oldest.at));
    await this.#kv.append(periodKey(periodOf(due) + 1), [requestId]);
  }

  /** A pending event, a dead letter or a run holds the values of its request. */
  async #isHeld(requestId: string): Promise<boolean> {
    const { events, isTruncated } = await this.#lookup.request(requestId);
    return isTruncated || events.some((each) => each.endedAt === undefined || each.isDeadLetter || each.run);
  }

  async #expired(known: readonly IndexedBlob[], now: number): Promise<readonly IndexedBlob[]> {
    const shared = new Set(parse<string>(await this.#kv.get(sharedKey)));
    return known.filter(({ type, at }) => at + (shared.has(type) ? sharedMs : graceMs) < now);
  }

  /** Changes a list. An empty one is deleted. */
  async #change<T>(key: string, update: (known: readonly T[]) => readonly T[]): Promise<void> {
    for (;;) {
      const text = await this.#kv.get(key);
      const changed = JSON.stringify(update(parse<T>(text)));
      if (changed === text || (text === undefined && changed === '[]')) return;
      const isEmpty = changed === '[]';
      // An empty list expires: a deletion could lose what another process has just added.
      if (await this.#kv.compareAndSet(key, text, changed, isEmpty ? { ttlMs: hourMs } : {})) return;
    }
  }
}

function periodOf(at: number): number {
  return Math.floor(at / periodMs);
}

function periodKey(period: number): string {
  return `${prefix}period:${period}`;
}

function requestKey(requestId: string): string {
  return `${prefix}request:${requestId}`;
}

/** Only the index writes these values. */
function parse<T>(text: string | undefined): readonly T[] {
  return text === undefined ? [] : (JSON.parse(text) as readonly T[]);
}
