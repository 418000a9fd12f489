import { statSync } from 'node:fs';
import { createHub } from '../hub/create-hub.js';
import type { Hub } from '../hub/hub.js';
import { redisTransport } from '../transports/redis/redis-transport.js';
import { type SqliteTransport, sqliteObserver } from '../transports/sqlite/index.js';
import type { Transport } from '../transports/transport.js';
import { ExitError, exitCodes } from './terminal.js';

/** Options that name the store: a Redis, or a file. */
export interface StoreOptions {
  readonly redis?: string;
  readonly prefix?: string;
  readonly file?: string;
  /** Maximum number of seconds to wait for Redis, or for the process that owns the file. */
  readonly timeout: number;
}

/** Read-only hubs of a store, one per service, opened at their first use. */
export class Connection {
  readonly transport: Transport & Pick<SqliteTransport, 'retire'>;
  /** Options that choose the store, for messages. */
  readonly chosenBy: string;
  readonly #hubs = new Map<string, Promise<Hub>>();

  /**
   * @throws {InvalidOptionError} if an option is not valid
   * @throws {ExitError} if there is no such file
   */
  constructor({ redis = defaultUrl(), prefix, file, timeout }: StoreOptions) {
    const timeoutMs = timeout * 1_000;
    if (file !== undefined && isMissing(file)) throw new ExitError(exitCodes.notFound, `There is no file ${file}.`);
    this.chosenBy = file === undefined ? '--redis and --prefix' : '--file';
    this.transport =
      file === undefined
        ? redisTransport({ url: redis, emitTimeoutMs: timeoutMs, ...(prefix !== undefined && { prefix }) })
        : sqliteObserver({ file, timeoutMs });
  }

  /** Returns the hub of a service, which replays and cancels for it. */
  hub(service: string = defaultService): Promise<Hub> {
    const opened = this.#hubs.get(service);
    if (opened !== undefined) return opened;
    const hub = createHub({ service, observer: true, transport: this.transport });
    const starting = hub.start().then(() => hub);
    this.#hubs.set(service, starting);
    return starting;
  }

  async close(): Promise<void> {
    for (const opened of this.#hubs.values()) {
      const hub = await opened.catch(() => undefined);
      await hub?.stop({ drainMs: 0 });
    }
  }
}

const defaultService = 'hub';

/** Returns `true` if there is no such file. A file that may not be looked at is there. */
function isMissing(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

function defaultUrl(): string {
  return process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';
}
