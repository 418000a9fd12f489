import { statSync } from 'node:fs';
import { createHub } from '../hub/create-hub.js';
import type { Hub } from '../hub/hub.js';
import { postgresTransport } from '../transports/postgres/postgres-transport.js';
import { redisTransport } from '../transports/redis/redis-transport.js';
import { type SqliteTransport, sqliteObserver } from '../transports/sqlite/index.js';
import type { Transport } from '../transports/transport.js';
import { ExitError, exitCodes } from './terminal.js';

/** Options that name the store: a Redis, a Postgres, or a file. */
export interface StoreOptions {
  readonly redis?: string;
  readonly prefix?: string;
  readonly postgres?: string;
  readonly schema?: string;
  readonly file?: string;
  /** Maximum number of seconds to wait for a server, or for the process that owns the file. */
  readonly timeout: number;
}

/** Read-only hub of a store, opened at its first use. */
export class Connection {
  readonly transport: Transport & Pick<SqliteTransport, 'retire'>;
  /** Options that choose the store, for messages. */
  readonly chosenBy: string;
  #hub: Promise<Hub> | undefined;

  /**
   * @throws {InvalidOptionError} if an option is not valid
   * @throws {ExitError} if there is no such file
   */
  constructor({ redis = defaultUrl(), prefix, postgres, schema, file, timeout }: StoreOptions) {
    const timeoutMs = timeout * 1_000;
    if (file !== undefined && isMissing(file)) throw new ExitError(exitCodes.notFound, `There is no file ${file}.`);
    if (file !== undefined) {
      this.chosenBy = '--file';
      this.transport = sqliteObserver({ file, timeoutMs });
    } else if (postgres !== undefined) {
      this.chosenBy = '--postgres and --schema';
      const settings = { connectionString: postgres, migrate: false, emitTimeoutMs: timeoutMs };
      this.transport = postgresTransport({ ...settings, ...(schema !== undefined && { schema }) });
    } else {
      this.chosenBy = '--redis and --prefix';
      const settings = { url: redis, emitTimeoutMs: timeoutMs };
      this.transport = redisTransport({ ...settings, ...(prefix !== undefined && { prefix }) });
    }
  }

  /** Returns the hub, which acts on all services. */
  hub(): Promise<Hub> {
    this.#hub ??= this.#open();
    return this.#hub;
  }

  async #open(): Promise<Hub> {
    const hub = createHub({ logger: false, observer: true, transport: this.transport });
    await hub.start();
    return hub;
  }

  async close(): Promise<void> {
    const hub = await this.#hub?.catch(() => undefined);
    await hub?.stop({ drainMs: 0 });
  }
}

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
