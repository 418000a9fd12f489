import type { Logger } from '../../transport.js';
import type { Argument, Database } from '../connection/database.js';
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
    const steps = [
      () => this.#call('fold_counts()'),
      async () => {
        while (await this.#packSome());
      },
      () => this.#call('sweep($1)', [this.#database.limits]),
    ];
    for (const step of steps) {
      await step().catch((error: unknown) => {
        this.#logger.debug({ err: error }, 'could not do the upkeep of the tables; the next minute repeats it');
      });
    }
    this.#isRunning = false;
  }

  /** Calls a function in a transaction whose isolation is not the default of the role. */
  async #call(call: string, args: readonly Argument[] = []): Promise<void> {
    await this.#database.transaction((query) => query(`SELECT hub.${call}`, args));
  }

  /** Returns `false` if nothing is left to pack, or another process packs it. */
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
