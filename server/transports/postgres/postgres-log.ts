import { randomUUID } from 'node:crypto';
import { type LogBounds, type LogPage, type LogStorage, LogWatchers } from '../bounded-log.js';
import { systemClock } from '../clock.js';
import { type BatchLimits, portionsOf, TickBatch } from '../tick-batch.js';
import type { Logger } from '../transport.js';
import type { Database } from './connection/database.js';
import { readList, readNumber, readText } from './connection/fields.js';
import type { Listener, NotificationListener } from './connection/listener.js';
import { textOf } from './postgres-key-values.js';

// Registrations last ten minutes.
const renewalMs = 300_000;
const renewalRetryMs = 10_000;
// A registration holds a lock per log until its commit.
const logLimits: BatchLimits<string> = { maxSize: 500, maxWeight: 500, weigh: () => 1 };
// While notifications do not arrive: the shorter time after an append, then longer ones.
const minLookMs = 100;
const maxLookMs = 400;

/**
 * Logs in a table with a row per entry. An append notifies those who watch the log, and no one else: the commits of all
 * sessions that notify wait for one another.
 */
export class PostgresLog implements LogStorage, NotificationListener {
  readonly #database: Database;
  readonly #listener: Listener;
  readonly #logger: Logger;
  readonly #watcher = randomUUID();
  readonly #watchers = new LogWatchers();
  /** Names of logs by their number in notifications. */
  readonly #names = new Map<string, string>();
  readonly #newest = new Map<string, number>();
  #removeListener: (() => Promise<void>) | undefined;
  /** End of the registrations, one at a time. Readers that connect, or leave, at the same time share one. */
  #registering: Promise<unknown> = Promise.resolve();
  readonly #beginning = new TickBatch<string, undefined>(logLimits, (names) => this.#alone(() => this.#begin(names)), {
    oneAtATime: true,
  });
  readonly #ending = new TickBatch<string, undefined>(logLimits, (names) => this.#alone(() => this.#forget(names)), {
    oneAtATime: true,
  });
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  /** The last look failed, or began before what may have been missed. */
  #isLookWanted = false;
  #lookMs = minLookMs;
  #renewAt = 0;

  constructor(database: Database, listener: Listener, logger: Logger) {
    this.#database = database;
    this.#listener = listener;
    this.#logger = logger;
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
    const remove = this.#watchers.add(name, onAppend);
    const end = (): void => {
      remove();
      // A registration that is left over expires.
      this.#ending.add(name).catch(() => {});
    };
    try {
      await this.#beginning.add(name);
    } catch (error) {
      end();
      throw error;
    }
    if (this.#watchers.names.length === 1) this.#renewAt = systemClock.monotonic() + renewalMs;
    this.#lookMs = minLookMs;
    this.#lookLater();
    return end;
  }

  onAppend(log: string): void {
    const name = this.#names.get(log);
    if (name !== undefined) this.#watchers.notify(name);
  }

  onMissed(isOwn: boolean): void {
    if (!isOwn) this.#look();
  }

  /** Ends all watches. */
  async close(): Promise<void> {
    this.#watchers.clear();
    await this.#alone(() => this.#leave()).catch(() => {});
  }

  async #begin(names: readonly string[]): Promise<undefined[]> {
    // All watches may have ended meanwhile.
    if (this.#watchers.names.length > 0) {
      this.#removeListener ??= await this.#listener.add(this, this.#logger);
      await this.#register(names);
    }
    return names.map(() => undefined);
  }

  async #register(names: readonly string[]): Promise<void> {
    const logs = names.map((name) => Buffer.from(name));
    const numbers = readList(await this.#database.call('watch_logs', [logs, this.#watcher]));
    for (const [index, number] of numbers.entries()) this.#names.set(readText(number), names[index] ?? '');
  }

  async #forget(names: readonly string[]): Promise<undefined[]> {
    const watched = new Set(this.#watchers.names);
    const ended = new Set(names.filter((name) => !watched.has(name)));
    if (watched.size === 0) await this.#leave();
    else if (ended.size > 0) {
      for (const [number, name] of this.#names) if (ended.has(name)) this.#names.delete(number);
      for (const name of ended) this.#newest.delete(name);
      await this.#unwatch([...ended].map((name) => Buffer.from(name)));
    }
    return names.map(() => undefined);
  }

  async #unwatch(logs: readonly Buffer[] | null): Promise<void> {
    await this.#database.call('unwatch_logs', [logs, this.#watcher]);
  }

  /** Ends the notifications, after the last watch. */
  async #leave(): Promise<void> {
    const removeListener = this.#removeListener;
    if (removeListener === undefined) return;
    this.#removeListener = undefined;
    clearTimeout(this.#timer);
    this.#names.clear();
    this.#newest.clear();
    try {
      await this.#unwatch(null);
    } finally {
      await removeListener();
    }
  }

  #alone<T>(call: () => Promise<T>): Promise<T> {
    const result = this.#registering.then(call);
    this.#registering = result.catch(() => {});
    return result;
  }

  #lookLater(): void {
    clearTimeout(this.#timer);
    if (this.#watchers.names.length === 0) return;
    const waitMs =
      this.#listener.isListening && !this.#isLookWanted ? this.#renewAt - systemClock.monotonic() : this.#lookMs;
    this.#timer = setTimeout(() => this.#look(), waitMs).unref();
  }

  #look(): void {
    this.#isLookWanted = true;
    this.#looking ??= this.#lookAll().finally(() => {
      this.#looking = undefined;
      this.#lookLater();
    });
  }

  async #lookAll(): Promise<void> {
    try {
      while (this.#isLookWanted) {
        this.#isLookWanted = false;
        await this.#lookOnce();
      }
    } catch {
      // Logs that cannot be read now are read soon.
      this.#isLookWanted = true;
    }
  }

  async #lookOnce(): Promise<void> {
    const { names } = this.#watchers;
    if (names.length === 0) return;
    const now = systemClock.monotonic();
    if (now >= this.#renewAt) {
      this.#renewAt = now + renewalRetryMs;
      for (const some of portionsOf(names, logLimits)) await this.#alone(() => this.#register(some));
      this.#renewAt = now + renewalMs;
    }
    const rows = await this.#database.query(
      `SELECT w.n, (SELECT sequence FROM hub.log_entries WHERE log = w.log ORDER BY sequence DESC LIMIT 1) AS newest
      FROM unnest($1::bytea[]) WITH ORDINALITY w(log, n)`,
      [names.map((name) => Buffer.from(name))],
    );
    this.#lookMs = Math.min(2 * this.#lookMs, maxLookMs);
    for (const { n, newest } of rows) {
      const name = names[readNumber(n) - 1] ?? '';
      const known = this.#newest.get(name);
      const found = newest === null ? -1 : readNumber(newest);
      this.#newest.set(name, found);
      if (found === known) continue;
      // Those of before the first look may be new to the watcher.
      this.#lookMs = minLookMs;
      this.#watchers.notify(name);
    }
  }
}
