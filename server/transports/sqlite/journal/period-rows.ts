import type { OpenPeriod } from '../../memory/statistics/period-series.js';
import { periodKinds } from '../../statistics/periods.js';
import type { Histories } from '../../statistics/stats.js';
import type { Database, Statement } from '../database/driver.js';

/** Name of the history of all types: no type has it. */
export const totalHistoryName = '';

/** History that a period belongs to. */
export interface PeriodPlace {
  /** `undefined` for the history of all types. */
  readonly type: string | undefined;
  readonly kind: keyof Histories;
}

/** Writes the periods of histories to the file, and deletes those that are too old to be shown. */
export class PeriodRows {
  readonly #insert: Statement;
  readonly #evict: Statement;

  constructor(database: Database) {
    this.#insert = database.prepare('INSERT OR REPLACE INTO periods VALUES (?, ?, ?, ?)');
    this.#evict = database.prepare('DELETE FROM periods WHERE type = ? AND kind = ? AND period <= ?');
  }

  write({ type, kind }: PeriodPlace, { period, counts, wait, duration }: OpenPeriod): void {
    const name = type ?? totalHistoryName;
    this.#insert.run(name, kind, period, JSON.stringify({ counts, wait, duration }));
    if (kind !== 'hours') return;
    // An hour is written when one of its minutes is over.
    const at = period * periodKinds.hours.stepMs;
    for (const [each, { stepMs, length }] of Object.entries(periodKinds)) {
      this.#evict.run(name, each, Math.floor(at / stepMs) - length);
    }
  }
}
