import { HubError } from '../../errors.js';
import { type LogBounds, type LogEntry, type LogPage, type LogStorage, LogWatchers } from '../bounded-log.js';
import type { Clock } from '../clock.js';
import type { Commits } from './database/committer.js';
import type { Database, Row, Statement } from './database/driver.js';
import { fromText, numberOf, textOf, toText } from './stored-values.js';

/** Logs in the file, as many as fit on the disk. Appends evict expired entries of all logs. */
export class SqliteLog implements LogStorage {
  readonly #committer: Commits;
  readonly #clock: Clock;
  readonly #watchers = new LogWatchers();
  readonly #first: Statement;
  readonly #last: Statement;
  readonly #page: Statement;
  readonly #insert: Statement;
  readonly #firstFrom: Statement;
  readonly #trim: Statement;
  readonly #evict: Statement;
  readonly #remove: Statement;

  constructor(database: Database, committer: Commits, clock: Clock) {
    this.#committer = committer;
    this.#clock = clock;
    const live = 'SELECT * FROM log_entries WHERE log = ? AND expires_at > ?';
    this.#first = database.prepare(`${live} ORDER BY sequence LIMIT 1`);
    this.#last = database.prepare(`${live} ORDER BY sequence DESC LIMIT 1`);
    this.#page = database.prepare(`${live} AND sequence >= ? ORDER BY sequence LIMIT ?`);
    this.#insert = database.prepare('INSERT OR REPLACE INTO log_entries VALUES (?, ?, ?, ?, ?, ?, ?)');
    this.#firstFrom = database.prepare(
      'SELECT sequence FROM log_entries WHERE log = ? AND start >= ? ORDER BY sequence LIMIT 1',
    );
    this.#trim = database.prepare('DELETE FROM log_entries WHERE log = ? AND sequence < ?');
    this.#evict = database.prepare(
      `DELETE FROM log_entries WHERE (log, sequence) IN
        (SELECT log, sequence FROM log_entries WHERE expires_at <= ? LIMIT ?)`,
    );
    this.#remove = database.prepare('DELETE FROM log_entries WHERE log = ?');
  }

  async append(name: string, texts: readonly string[], bounds: LogBounds): Promise<number> {
    const first = await this.#append(name, texts, bounds);
    this.#watchers.notify(name);
    return first;
  }

  #append(name: string, texts: readonly string[], { maxEntries, maxBytes, maxAgeMs }: LogBounds): Promise<number> {
    const length = texts.reduce((sum, text) => sum + text.length, 0);
    return this.#committer.write(() => {
      const at = this.#clock.now();
      // Twice as many as are added keep pace, without a timer or a long pause.
      this.#evict.run(at, 2 * texts.length);
      const last = this.#last.get(toText(name), at);
      const first = last === undefined ? 0 : numberOf(last, 'sequence') + 1;
      let end = last === undefined ? 0 : numberOf(last, 'start') + numberOf(last, 'bytes');
      const expiresAt = Math.max(at + maxAgeMs, last === undefined ? 0 : numberOf(last, 'expires_at'));
      for (const [index, text] of texts.entries()) {
        const bytes = Buffer.byteLength(text);
        this.#insert.run(toText(name), first + index, at, expiresAt, end, bytes, toText(text));
        end += bytes;
      }
      const newest = first + texts.length - 1;
      // The first entries are dropped: the read ends at the first one that stays, however long the log is.
      const fitting = this.#firstFrom.get(toText(name), end - maxBytes);
      const kept = Math.max(fitting === undefined ? newest : numberOf(fitting, 'sequence'), newest + 1 - maxEntries);
      this.#trim.run(toText(name), Math.min(kept, newest));
      return first;
    }, length);
  }

  async read(name: string, { from, limit }: { readonly from: number; readonly limit: number }): Promise<LogPage> {
    try {
      const now = this.#clock.now();
      const [first, last] = [this.#first.get(toText(name), now), this.#last.get(toText(name), now)];
      const next = last === undefined ? 0 : numberOf(last, 'sequence') + 1;
      const entries = this.#page.all(toText(name), now, from, limit).map(toEntry);
      return { entries, first: first === undefined ? next : numberOf(first, 'sequence'), next };
    } catch (error) {
      throw HubError.is(error) ? error : this.#committer.unreadable(error);
    }
  }

  delete(name: string): Promise<boolean> {
    return this.#committer.write(() => {
      const existed = this.#last.get(toText(name), this.#clock.now()) !== undefined;
      this.#remove.run(toText(name));
      return existed;
    });
  }

  async watch(name: string, onAppend: () => void): Promise<() => void> {
    return this.#watchers.add(name, onAppend);
  }
}

function toEntry(row: Row): LogEntry {
  return { sequence: numberOf(row, 'sequence'), at: numberOf(row, 'at'), text: fromText(textOf(row, 'text')) };
}
