import { InvalidOptionError, maxDurationMs, quote } from '../errors.js';
import { OptionChecker } from '../options.js';
import { checkKey, checkText } from './key-values.js';

/** Bounds of a log. A log that exceeds one drops its oldest entries, but never the newest one. */
export interface LogBounds {
  /** Maximum number of entries, at most 100,000. */
  readonly maxEntries: number;
  /** Maximum size of all texts as they are stored, in bytes of UTF-8, at most 67,108,864 (64 MiB). */
  readonly maxBytes: number;
  /** Age at which an entry is dropped, the newest one too, in milliseconds. None is dropped before an earlier one. */
  readonly maxAgeMs: number;
}

/** One entry of a log. */
export interface LogEntry {
  /** Position in the log, from 0. */
  readonly sequence: number;
  /** Time of the append in epoch milliseconds, by the transport's clock. */
  readonly at: number;
  readonly text: string;
}

/** Consecutive entries of a log. */
export interface LogPage {
  /** In order of their sequence numbers. */
  readonly entries: readonly LogEntry[];
  /** Sequence number of the oldest retained entry; `next` if there is none. A reader of `from` missed `first - from`. */
  readonly first: number;
  /** Sequence number of the next entry that is appended. */
  readonly next: number;
}

/**
 * Named logs of strings with sequence numbers, stored by a transport and shared by all of its services. Every call is
 * atomic. A log exists while it has entries: after the last one has been dropped its numbers begin again at 0.
 *
 * Every method rejects with `InvalidOptionError` if an argument is invalid.
 */
export interface BoundedLog {
  /**
   * Appends 1 to 10,000 entries, then drops what exceeds the bounds. Resolves with the sequence number of the first of
   * them.
   */
  append(name: string, texts: readonly string[], bounds: LogBounds): Promise<number>;
  /** Returns at most `limit` (up to 10,000) entries from a sequence number on, or from the oldest one on. */
  read(name: string, options?: { readonly from?: number; readonly limit?: number }): Promise<LogPage>;
  /** Deletes a log; returns `false` if it does not exist. */
  delete(name: string): Promise<boolean>;
  /**
   * Calls `onAppend` after each append of any connection, from the time at which the promise resolves. Several appends
   * may lead to one call, and there may be calls without an append. Resolves with a function that ends this.
   */
  watch(name: string, onAppend: () => void): Promise<() => void>;
}

/** Storage of logs behind {@link CheckedLog}: its arguments are valid, and none is left out. */
export interface LogStorage extends Pick<BoundedLog, 'append' | 'delete' | 'watch'> {
  /** Returns at most `limit` entries from a sequence number on. */
  read(name: string, options: { readonly from: number; readonly limit: number }): Promise<LogPage>;
}

const maxEntries = 100_000;
const maxBytes = 67_108_864;
const maxCallEntries = 10_000;

/** Checks all arguments before it calls a storage, so that every transport refuses the same ones. */
export class CheckedLog implements BoundedLog {
  readonly #storage: LogStorage;

  constructor(storage: LogStorage) {
    this.#storage = storage;
  }

  async append(name: string, texts: readonly string[], bounds: LogBounds): Promise<number> {
    checkKey(name);
    const check = new OptionChecker(bounds, ['maxEntries', 'maxBytes', 'maxAgeMs'], 'append');
    check.that(isCount(bounds.maxEntries, maxEntries), 'maxEntries', `1 to ${maxEntries}`, bounds.maxEntries);
    check.that(isCount(bounds.maxBytes, maxBytes), 'maxBytes', `1 to ${maxBytes}`, bounds.maxBytes);
    const isAge = bounds.maxAgeMs > 0 && bounds.maxAgeMs <= maxDurationMs;
    check.that(isAge, 'maxAgeMs', `milliseconds, more than 0, at most ${maxDurationMs}`, bounds.maxAgeMs);
    const isList = Array.isArray(texts) && texts.length >= 1 && texts.length <= maxCallEntries;
    if (!isList) throw new InvalidOptionError('texts of append', `1 to ${maxCallEntries} strings`, texts);
    const subject = `an entry of the log ${quote(name)}`;
    for (const text of texts) {
      checkText(text, subject);
      const bytes = Buffer.byteLength(text);
      if (bytes > bounds.maxBytes) throw new InvalidOptionError(subject, `at most ${bounds.maxBytes} bytes`, bytes);
    }
    return this.#storage.append(name, texts, bounds);
  }

  async read(name: string, options: { readonly from?: number; readonly limit?: number } = {}): Promise<LogPage> {
    checkKey(name);
    const check = new OptionChecker(options, ['from', 'limit'], 'read');
    const { from = 0, limit = 1_000 } = options;
    check.that(Number.isSafeInteger(from) && from >= 0, 'from', 'a sequence number, from 0', from);
    check.that(isCount(limit, maxCallEntries), 'limit', `1 to ${maxCallEntries}`, limit);
    return this.#storage.read(name, { from, limit });
  }

  async delete(name: string): Promise<boolean> {
    checkKey(name);
    return this.#storage.delete(name);
  }

  async watch(name: string, onAppend: () => void): Promise<() => void> {
    checkKey(name);
    return this.#storage.watch(name, onAppend);
  }
}

/** Callbacks for the appends to logs. */
export class LogWatchers {
  readonly #watchers = new Map<string, Set<() => void>>();

  /** Names of the logs with callbacks. */
  get names(): readonly string[] {
    return [...this.#watchers.keys()];
  }

  /** Adds a callback. Returns a function that removes it. */
  add(name: string, onAppend: () => void): () => void {
    const watchers = this.#watchers.get(name) ?? new Set();
    this.#watchers.set(name, watchers);
    // Wrapped, so that one function can watch twice.
    const watcher = (): void => onAppend();
    watchers.add(watcher);
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(name) === watchers) this.#watchers.delete(name);
    };
  }

  /** Removes all callbacks. */
  clear(): void {
    this.#watchers.clear();
  }

  notify(name: string): void {
    for (const watcher of [...(this.#watchers.get(name) ?? [])]) watcher();
  }
}

function isCount(value: unknown, maximum: number): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= maximum;
}
