import type { PostgresClient, PostgresResult } from '../postgres-options.js';
import type { Argument, Database, Session } from './database.js';

/**
 * Session that nothing else uses: leases and heartbeats get through, whatever handlers do with the pool. Connects again
 * after it was lost.
 */
export class ReservedSession implements Session {
  readonly #database: Database;
  #client: Promise<PostgresClient> | undefined;
  /** End of the statements that run, one at a time. */
  #last: Promise<unknown> = Promise.resolve();
  #running = 0;
  /** Gives the client back to the pool, or ends its connection. */
  #release = (_destroy: boolean): void => {};
  #isClosed = false;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Calls a function of the schema. */
  call(name: string, args: readonly Argument[]): Promise<unknown> {
    return this.#database.call(name, args, this);
  }

  query(...statement: Parameters<PostgresClient['query']>): Promise<PostgresResult> {
    this.#running += 1;
    const result = this.#last.then(() => this.#query(...statement)).finally(() => (this.#running -= 1));
    this.#last = result.catch(() => {});
    return result;
  }

  async #query(...statement: Parameters<PostgresClient['query']>): Promise<PostgresResult> {
    if (this.#isClosed) throw new Error('the session is closed');
    this.#client ??= this.#connect();
    return (await this.#client).query(...statement);
  }

  /** Ends a connection that hangs: what waits for it goes on with a new one. */
  giveUp(): void {
    this.#release(true);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#client?.catch(() => {});
    // A session in which nothing runs serves the pool on.
    this.#release(this.#running > 0);
  }

  async #connect(): Promise<PostgresClient> {
    try {
      const client = await this.#database.session();
      const lose = (): void => this.#release(true);
      this.#release = (destroy) => {
        this.#release = () => {};
        this.#client = undefined;
        client.off('error', lose).off('end', lose);
        client.release(destroy);
      };
      client.on('error', lose).on('end', lose);
      return client;
    } catch (error) {
      this.#client = undefined;
      throw error;
    }
  }
}
