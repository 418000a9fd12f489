import type { Entry } from '../../broker/entry.js';
import type {
  ChainId,
  ChainSize,
  Skips,
  SpillFilter,
  SpillStore,
  StoredQueue,
  TurnRange,
} from '../../broker/journal.js';
import type { Clock } from '../../clock.js';
import type { Database, Row, Statement } from '../database/driver.js';
import { StoredValueError } from '../sqlite-errors.js';
import { numberOf, optionalText } from '../stored-values.js';
import { type EntryContext, entryOfRow } from './entry-rows.js';

/** The part of a journal that spilled events use. */
export interface SpillJournal {
  /** Reports an entry that leaves memory or is read again. */
  entry(queue: StoredQueue, entry: Entry): void;
  /** Returns the next number of the order of acceptance, and of turns. */
  nextPosition(): number;
  idOf(queue: StoredQueue): number;
  /** Applies a change that no caller waits for, and calls `stored` when it is stored. */
  settleLater(apply: () => void, stored?: () => void): void;
  /** Halts everything for a time, because the events of a queue cannot be read. */
  suspend(queue: StoredQueue, error: unknown): void;
  /** Reports that events of a queue were read. */
  resume(queue: StoredQueue): void;
  /** Reports an event whose queue stops. */
  reportDamage(queue: StoredQueue, position: number | undefined): void;
  /** Returns the error for a caller whose read failed. */
  unreadable(error: unknown): Error;
}

// Due times are stored as epoch milliseconds, and the conversion rounds them.
const roundingMs = 0.01;

/** Pending events in the file that are not in memory. */
export class SpilledEvents implements SpillStore {
  readonly maxInMemory: number;
  /** Returns the deduplication id in use. */
  remembered: EntryContext['remembered'] = () => undefined;
  readonly #journal: SpillJournal;
  readonly #clock: Clock;
  #inMemory = 0;
  readonly #damaged = new Set<StoredQueue>();
  readonly #statements: {
    readonly chains: Statement;
    readonly keyedChains: Statement;
    readonly chain: Statement;
    readonly keyedChain: Statement;
    readonly due: Statement;
    readonly dueTimes: Statement;
    readonly byId: Statement;
    readonly byRequest: Statement;
    readonly newest: Statement;
    readonly oldest: Statement;
    readonly positions: Statement;
  };

  constructor(database: Database, journal: SpillJournal, clock: Clock, maxInMemory: number) {
    this.#journal = journal;
    this.#clock = clock;
    this.maxInMemory = maxInMemory;
    const select = (columns: string, rest: string): Statement =>
      database.prepare(`SELECT ${columns} FROM spilled_events WHERE queue = ? AND ${rest}`);
    const size = 'priority, count(*) AS count, min(turn) AS first_turn';
    const next = 'due_at IS NULL AND priority = ? AND turn > ? AND turn < ? ORDER BY turn';
    this.#statements = {
      chains: select(size, 'due_at IS NULL GROUP BY priority ORDER BY first_turn'),
      keyedChains: select(`key, ${size}`, 'due_at IS NULL GROUP BY key, priority ORDER BY first_turn'),
      chain: select('*', next),
      keyedChain: select('*', `key IS ? AND ${next}`),
      due: select('*', 'due_at <= ? ORDER BY due_at, turn'),
      dueTimes: select('position, due_at', 'due_at IS NOT NULL ORDER BY due_at'),
      byId: select('*', 'id = ?'),
      byRequest: select('*', 'request_id = ? ORDER BY position DESC'),
      newest: select('*', 'position > 0 ORDER BY position DESC'),
      oldest: select('position, accepted_at', 'position > 0 ORDER BY position'),
      positions: select('position', 'request_id = ?'),
    };
  }

  get inMemory(): number {
    return this.#inMemory;
  }

  admit(): void {
    this.#inMemory += 1;
  }

  release(): void {
    this.#inMemory -= 1;
  }

  spill(queue: StoredQueue, entry: Entry, turn: number = this.#journal.nextPosition()): void {
    this.#journal.entry(queue, entry);
    const { record } = entry;
    if (record === undefined) return;
    record.isSpilled = true;
    record.turn = turn;
  }

  unspill(queue: StoredQueue, entry: Entry): void {
    if (entry.record !== undefined) entry.record.isSpilled = false;
    this.#journal.entry(queue, entry);
  }

  afterStored(fn: () => void): void {
    this.#journal.settleLater(() => {}, fn);
  }

  isDamaged(queue: StoredQueue): boolean {
    return this.#damaged.has(queue);
  }

  chains(queue: StoredQueue, isKeyed: boolean): readonly ChainSize[] {
    const { chains, keyedChains } = this.#statements;
    const rows = (isKeyed ? keyedChains : chains).all(this.#journal.idOf(queue));
    return rows.map((row) => ({
      priority: numberOf(row, 'priority'),
      key: isKeyed ? optionalText(row, 'key') : undefined,
      isKeyed,
      count: numberOf(row, 'count'),
      firstTurn: numberOf(row, 'first_turn'),
    }));
  }

  readChain(
    queue: StoredQueue,
    { key, priority, isKeyed }: ChainId,
    { after, before }: TurnRange,
    limit: number,
    skips: Skips,
  ): readonly Entry[] | undefined {
    const { chain, keyedChain } = this.#statements;
    const id = this.#journal.idOf(queue);
    const end = Math.min(before, Number.MAX_SAFE_INTEGER);
    return this.#readNext(queue, () => {
      const rows = isKeyed
        ? keyedChain.iterate(id, key ?? null, priority, after, end)
        : chain.iterate(id, priority, after, end);
      return this.#entries(queue, rows, skips, limit);
    });
  }

  readDue(queue: StoredQueue, limit: number, skips: Skips): readonly Entry[] | undefined {
    const now = this.#clock.now() + roundingMs;
    const { due } = this.#statements;
    return this.#readNext(queue, () => this.#entries(queue, due.iterate(this.#journal.idOf(queue), now), skips, limit));
  }

  nextDueAt(queue: StoredQueue, skips: Skips): number | undefined {
    const now = this.#clock.monotonic();
    const next = this.#tryRead(queue, () => {
      for (const row of this.#statements.dueTimes.iterate(this.#journal.idOf(queue))) {
        if (!skips(numberOf(row, 'position'))) return numberOf(row, 'due_at') - this.#clock.now() + now;
      }
      return Number.POSITIVE_INFINITY;
    });
    // If the read failed, the next one tells.
    return next === Number.POSITIVE_INFINITY ? undefined : (next ?? now);
  }

  find(queue: StoredQueue, filter: SpillFilter, skips: Skips): readonly Entry[] {
    const id = this.#journal.idOf(queue);
    const { byId, byRequest, newest } = this.#statements;
    return this.#read(() => {
      if ('id' in filter) return this.#entries(queue, byId.all(id, filter.id), skips);
      if ('requestId' in filter) return this.#entries(queue, byRequest.iterate(id, filter.requestId), skips);
      return this.#entries(queue, newest.iterate(id), skips, filter.newest);
    });
  }

  count(queue: StoredQueue, requestId: string, skips: Skips): number {
    const { positions } = this.#statements;
    return this.#read(() => {
      const rows = positions.all(this.#journal.idOf(queue), requestId);
      return rows.filter((row) => !skips(numberOf(row, 'position'))).length;
    });
  }

  oldest(queue: StoredQueue, skips: Skips): { readonly position: number; readonly acceptedAt: number } | undefined {
    return this.#read(() => {
      for (const row of this.#statements.oldest.iterate(this.#journal.idOf(queue))) {
        const position = numberOf(row, 'position');
        if (!skips(position)) return { position, acceptedAt: numberOf(row, 'accepted_at') };
      }
      return undefined;
    });
  }

  #entries(queue: StoredQueue, rows: Iterable<Row>, skips: Skips, limit: number = Number.POSITIVE_INFINITY): Entry[] {
    const entries: Entry[] = [];
    const { type } = queue;
    for (const row of rows) {
      if (entries.length === limit) break;
      const position = numberOf(row, 'position');
      if (skips(position)) continue;
      const context: EntryContext = {
        type,
        clock: this.#clock,
        table: 'spilled_events',
        remembered: this.remembered,
        // Runs stay in memory.
        checkpoints: () => undefined,
      };
      entries.push(entryAt(position, row, context));
    }
    return entries;
  }

  /** Reads for a caller. */
  #read<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      throw this.#journal.unreadable(error);
    }
  }

  /** Reads the next entries for the dispatcher. */
  #readNext(queue: StoredQueue, read: () => readonly Entry[]): readonly Entry[] | undefined {
    if (this.#damaged.has(queue)) return undefined;
    const entries = this.#tryRead(queue, read);
    if (entries !== undefined) this.#journal.resume(queue);
    return entries;
  }

  /** Reads for the dispatcher, which continues when the file can be read again. */
  #tryRead<T>(queue: StoredQueue, read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (error instanceof StoredValueError) this.#stop(queue, error);
      else this.#journal.suspend(queue, error);
      return undefined;
    }
  }

  #stop(queue: StoredQueue, { position }: StoredValueError): void {
    this.#damaged.add(queue);
    this.#journal.resume(queue);
    this.#journal.reportDamage(queue, position);
  }
}

/** @throws {StoredValueError} with the position */
function entryAt(position: number, row: Row, context: EntryContext): Entry {
  try {
    return entryOfRow(row, context);
  } catch (error) {
    if (error instanceof StoredValueError) error.position = position;
    throw error;
  }
}
