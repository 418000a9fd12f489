import type { LogBounds, LogEntry, LogPage, LogStorage } from '../../bounded-log.js';
import type { CommandClient } from '../connection/command-client.js';
import { redisKey } from '../connection/keys.js';
import { readArray, readNumber, readString, unexpected } from '../connection/reply.js';
import { scripts } from '../connection/script.js';

/** Logs in Redis: one list per log, which expires with its newest entry. */
export class RedisLog implements LogStorage {
  readonly #client: CommandClient;
  readonly #prefix: string;
  readonly #watch: LogStorage['watch'];

  /** @param watch calls a function after each message of a channel, which has the name of the key of a log */
  constructor(client: CommandClient, prefix: string, watch: LogStorage['watch']) {
    this.#client = client;
    this.#prefix = prefix;
    this.#watch = watch;
  }

  async append(name: string, texts: readonly string[], { maxEntries, maxBytes, maxAgeMs }: LogBounds): Promise<number> {
    const args = [maxEntries, maxBytes, Math.ceil(maxAgeMs), ...texts];
    return readNumber(await this.#client.run((client) => scripts.appendLog.run(client, this.#key(name), args)));
  }

  async read(name: string, { from, limit }: { readonly from: number; readonly limit: number }): Promise<LogPage> {
    const args = [from, limit];
    const reply = await this.#client.run((client) => scripts.readLog.run(client, this.#key(name), args), {
      isRepeatable: true,
    });
    if (reply === null) return { entries: [], first: 0, next: 0 };
    const [first, next, entries] = readArray(reply);
    return { entries: readArray(entries).map(toEntry), first: readNumber(first), next: readNumber(next) };
  }

  async delete(name: string): Promise<boolean> {
    return (await this.#client.run((client) => client.del(this.#key(name)))) === 1;
  }

  watch(name: string, onAppend: () => void): Promise<() => void> {
    return this.#watch(this.#key(name), onAppend);
  }

  #key(name: string): string {
    return redisKey(this.#prefix, 'log', name);
  }
}

function toEntry(reply: unknown): LogEntry {
  const [, sequence, at, text] = /^(\d+) (\d+) \d+ \d+ (.*)$/s.exec(readString(reply)) ?? [];
  if (text === undefined) throw unexpected('an entry of a log', sequence);
  return { sequence: Number(sequence), at: Number(at), text };
}
