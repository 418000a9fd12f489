import { type LogBounds, type LogPage, type LogStorage, LogWatchers } from '../bounded-log.js';
import type { Database } from './connection/database.js';
import { readNumber } from './connection/fields.js';
import { textOf } from './postgres-key-values.js';

// One query of a process looks at all logs that it watches. A notification per append would let the commits of all
// sessions wait for one another.
const watchIntervalMs = 100;

/** Logs in a table with a row per entry. */
export class PostgresLog implements LogStorage {
  readonly #database: Database;
  readonly #watchers = new LogWatchers();
  readonly #newest = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  async append(name: string, texts: readonly string[], { maxEntries, maxBytes, maxAgeMs }: LogBounds): Promise<number> {
    const bytes = texts.map((text) => Buffer.from(text));
    return readNumber(
      await this.#database.call('log_append', [Buffer.from(name), bytes, maxEntries, maxBytes, maxAgeMs]),
    );
  }

  async read(name: string, { from, limit }: { readonly from: number; readonly limit: number }): Promise<LogPage> {
    const rows = await this.#database.query(
      `WITH live AS MATERIALIZED (SELECT hub.now_ms() AS now),
      bounds AS (SELECT min(sequence) AS first, max(sequence) + 1 AS next FROM hub.log_entries, live WHERE log = $1 AND expires_at > now)
      SELECT coalesce(first, 0) AS first, coalesce(next, 0) AS next, e.* FROM bounds LEFT JOIN LATERAL (
        SELECT sequence, at, text FROM hub.log_entries, live WHERE log = $1 AND expires_at > now AND sequence >= $2
        ORDER BY sequence LIMIT $3
      ) e ON true ORDER BY sequence`,
      [Buffer.from(name), from, limit],
    );
    const entries = rows.flatMap(({ sequence, at, text }) =>
      sequence === null ? [] : [{ sequence: readNumber(sequence), at: readNumber(at), text: textOf(text) }],
    );
    return { entries, first: readNumber(rows[0]?.['first']), next: readNumber(rows[0]?.['next']) };
  }

  async delete(name: string): Promise<boolean> {
    return (await this.#database.call('log_delete', [Buffer.from(name)])) === true;
  }

  async watch(name: string, onAppend: () => void): Promise<() => void> {
    await this.#database.ready();
    const end = this.#watchers.add(name, onAppend);
    this.#lookLater();
    return end;
  }

  #lookLater(): void {
    if (this.#watchers.names.length === 0) this.#newest.clear();
    else this.#timer ??= setTimeout(() => void this.#look(), watchIntervalMs).unref();
  }

  async #look(): Promise<void> {
    const { names } = this.#watchers;
    try {
      const rows = await this.#database.query(
        `SELECT w.n, (SELECT sequence FROM hub.log_entries WHERE log = w.log ORDER BY sequence DESC LIMIT 1) AS newest
        FROM unnest($1::bytea[]) WITH ORDINALITY w(log, n)`,
        [names.map((name) => Buffer.from(name))],
      );
      for (const { n, newest } of rows) {
        const name = names[readNumber(n) - 1] ?? '';
        const known = this.#newest.get(name);
        const found = newest === null ? -1 : readNumber(newest);
        this.#newest.set(name, found);
        // Those of before the first look may be new to the watcher.
        if (found !== known) this.#watchers.notify(name);
      }
    } catch {
      // Logs that cannot be read now are read at the next look.
    } finally {
      this.#timer = undefined;
      this.#lookLater();
    }
  }
}
