import type { OpenPeriod } from '../../statistics/packed-periods.js';
import type { PeriodHistory } from '../../statistics/period-history.js';
import type { Database, Statement } from '../database/driver.js';

/** Name of the history of all types: no type has it. */
export const totalHistoryName = '';

// A transaction writes as many of the values that are due as it can in this time.
const portionMs = 1;

/** Values that take long to write. Each transaction writes some of them. */
export class DueWrites<K, V> {
  readonly #due = new Map<K, V>();
  #written: [key: K, value: V][] = [];

  add(key: K, value: V): void {
    this.#due.set(key, value);
  }

  /** Writes values for a short time, and at least one. */
  write(write: (key: K, value: V) => void, isLast: boolean): void {
    this.#written = [];
    if (this.#due.size === 0) return;
    const until = performance.now() + portionMs;
    for (const [key, value] of this.#due) {
      write(key, value);
      this.#written.push([key, value]);
      if (performance.now() > until && !isLast) break;
    }
  }

  /** Returns the values that the last transaction has written, and forgets them. */
  takeWritten(): readonly V[] {
    if (this.#written.length === 0) return [];
    const written = this.#written;
    this.#written = [];
    for (const [key] of written) this.#due.delete(key);
    return written.map(([, value]) => value);
  }

  get size(): number {
    return this.#due.size;
  }
}

/** Writes the minutes of histories that have new counts, and packs those that are over. */
export class HistoryRows {
  readonly #due = new DueWrites<string, PeriodHistory>();
  #minutes = new Map<OpenPeriod, string>();
  readonly #count: Statement;
  readonly #forget: Statement;
  readonly #store: Statement;
  readonly #evict: Statement;

  constructor(database: Database) {
    this.#count = database.prepare('INSERT OR REPLACE INTO counted_minutes VALUES (?, ?, ?)');
    this.#forget = database.prepare('DELETE FROM counted_minutes WHERE type = ? AND minute < ?');
    this.#store = database.prepare('INSERT OR REPLACE INTO histories VALUES (?, ?, ?)');
    // Of the names, those of hours alone are numbers.
    this.#evict = database.prepare('DELETE FROM histories WHERE type = ? AND CAST(part AS INTEGER) BETWEEN 1 AND ?');
  }

  /** Adds a minute with new counts; `undefined` stands for the history of all types. */
  count(type: string | undefined, minute: OpenPeriod, history: PeriodHistory): void {
    if (this.#minutes.has(minute)) return;
    this.#minutes.set(minute, type ?? totalHistoryName);
    if (history.hasChanges) this.pack(type, history);
  }

  /** Lets a transaction pack the minutes that are over. */
  pack(type: string | undefined, history: PeriodHistory): void {
    this.#due.add(type ?? totalHistoryName, history);
  }

  /** Number of minutes to write. */
  get size(): number {
    return this.#minutes.size;
  }

  /** @param isLast no transaction follows, so that all histories are packed */
  write(isLast: boolean): void {
    for (const [{ period, counts, wait, duration }, type] of this.#minutes) {
      const longestMs = [wait.longestMs, duration.longestMs];
      this.#count.run(type, period, JSON.stringify({ counts, wait, duration, longestMs }));
    }
    this.#due.write((type, history) => this.#pack(type, history), isLast);
  }

  /** Returns `true` if histories are left to pack. */
  markWritten(): boolean {
    this.#minutes = new Map();
    const written = this.#due.takeWritten();
    for (const history of written) history.markStored();
    return written.length > 0 && this.#due.size > 0;
  }

  #pack(type: string, history: PeriodHistory): void {
    const { parts, firstHour } = history.pack();
    for (const [part, text] of parts) this.#store.run(type, part, text);
    if (firstHour !== undefined) this.#evict.run(type, firstHour - 1);
    this.#forget.run(type, history.openMinute);
  }
}
