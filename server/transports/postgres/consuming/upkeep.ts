import type { Logger } from '../../transport.js';
import type { Database } from '../connection/database.js';
import { readFields, readList, readText } from '../connection/fields.js';
import { readHistory } from '../reads/counts.js';

const intervalMs = 60_000;
// A type takes a fraction of a millisecond.
const maxTypes = 100;

/**
 * Packs the minutes that are over into the histories of their types, and removes what has expired. Every process does so
 * each minute, and one at a time.
 */
export class Upkeep {
  readonly #database: Database;
  readonly #logger: Logger;
  #nextAt = 0;
  #isRunning = false;

  constructor(database: Database, logger: Logger) {
    this.#database = database;
    this.#logger = logger;
  }

  /** Does what is due, unless an earlier call still does so. It never rejects. */
  async run(now: number): Promise<void> {
    if (now < this.#nextAt || this.#isRunning) return;
    this.#nextAt = now + intervalMs;
    this.#isRunning = true;
    try {
      while (await this.#packSome());
      await this.#database.call('sweep', [this.#database.limits]);
    } catch (error) {
      this.#logger.debug({ err: error }, 'could not store histories; the next minute repeats it');
    } finally {
      this.#isRunning = false;
    }
  }

  /** Returns `false` if nothing is left to pack. */
  #packSome(): Promise<boolean> {
    return this.#database.transaction(async (query) => {
      const [row] = await query('SELECT hub.take_minutes($1) AS taken', [maxTypes]);
      const taken = readList(row?.['taken']).map(readFields);
      for (const each of taken) {
        const history = readHistory(each);
        history.closeMinute();
        const { parts, firstHour = 0 } = history.pack();
        await query('SELECT hub.store_history($1, $2, $3)', [
          readText(each['type']),
          JSON.stringify(Object.fromEntries(parts)),
          firstHour,
        ]);
      }
      return taken.length >= maxTypes;
    });
  }
}
