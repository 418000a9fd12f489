import { type LogBounds, type LogEntry, type LogPage, type LogStorage, LogWatchers } from '../bounded-log.js';
import { TurnBudget } from '../broker/turn-budget.js';
import type { Clock } from '../clock.js';
import { ExpiringMap } from './expiring-map.js';

/** Entry with the number of bytes before it in its log, and the time at which it is dropped. */
interface StoredEntry extends LogEntry {
  readonly start: number;
  readonly expiresAt: number;
}

/** At most 1,000,000 logs in the process. */
export class MemoryLog implements LogStorage {
  readonly #logs: ExpiringMap<StoredEntry[]>;
  readonly #clock: Clock;
  readonly #turns: TurnBudget;
  readonly #watchers = new LogWatchers();

  constructor(clock: Clock) {
    this.#logs = new ExpiringMap(clock, 'the logs');
    this.#clock = clock;
    this.#turns = new TurnBudget(clock);
  }

  async append(name: string, texts: readonly string[], { maxEntries, maxBytes, maxAgeMs }: LogBounds): Promise<number> {
    const at = this.#clock.now();
    const entries = this.#entries(name, at);
    const last = entries.at(-1);
    const first = last === undefined ? 0 : last.sequence + 1;
    let end = last === undefined ? 0 : last.start + Buffer.byteLength(last.text);
    const expiresAt = Math.max(at + maxAgeMs, last?.expiresAt ?? 0);
    for (const [index, text] of texts.entries()) {
      entries.push({ sequence: first + index, at, text, start: end, expiresAt });
      end += Buffer.byteLength(text);
    }
    const [oldestSequence, oldestStart] = [first + texts.length - maxEntries, end - maxBytes];
    dropWhile(entries, ({ sequence, start }) => sequence < oldestSequence || start < oldestStart);
    this.#logs.set(name, entries, expiresAt - at);
    this.#watchers.notify(name);
    await this.#turns.spendCall(end - (last?.start ?? 0));
    return first;
  }

  async read(name: string, { from, limit }: { readonly from: number; readonly limit: number }): Promise<LogPage> {
    const entries = this.#entries(name, this.#clock.now());
    const next = (entries.at(-1)?.sequence ?? -1) + 1;
    const first = entries[0]?.sequence ?? next;
    const start = Math.max(0, from - first);
    const page = entries.slice(start, start + limit).map(({ sequence, at, text }) => ({ sequence, at, text }));
    await this.#turns.spendCall();
    return { entries: page, first, next };
  }

  async delete(name: string): Promise<boolean> {
    await this.#turns.spendCall();
    return this.drop(name);
  }

  /** Deletes a log at once. */
  drop(name: string): boolean {
    return this.#logs.delete(name);
  }

  async watch(name: string, onAppend: () => void): Promise<() => void> {
    return this.#watchers.add(name, onAppend);
  }

  /** Returns the entries of a log that have not expired. The log expires with its last one. */
  #entries(name: string, now: number): StoredEntry[] {
    const entries = this.#logs.get(name) ?? [];
    dropWhile(entries, ({ expiresAt }) => expiresAt <= now);
    return entries;
  }
}

/** Drops the first entries for as long as the condition holds, but never the last one. */
function dropWhile(entries: StoredEntry[], isDropped: (entry: StoredEntry) => boolean): void {
  let count = 0;
  for (const entry of entries) {
    if (count === entries.length - 1 || !isDropped(entry)) break;
    count += 1;
  }
  if (count > 0) entries.splice(0, count);
}
