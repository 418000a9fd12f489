import { setTimeout as delay } from 'node:timers/promises';
import { HubError } from '../../../errors.js';
import type { SqlTransaction, TransactionSettings } from '../../delivery.js';
import { TransportUnavailableError } from '../../errors.js';
import { type Argument, type Database, sqlStateOf } from '../connection/database.js';
import { repeatable } from '../connection/postgres-errors.js';
import type { PostgresClient } from '../postgres-options.js';

const maxRepetitions = 10;
const aborted = '25P02';
/** Setting that lasts as long as the transaction. */
const marker = 'hubline.transaction';

/** The callback of a transaction ended it, so that its writes and the record of the attempt could not commit together. */
export class TransactionEndedError extends HubError {
  constructor() {
    super(
      'ERR_TRANSACTION_ENDED',
      'the callback of a transaction executed COMMIT or ROLLBACK; leave that to the transaction, and throw to roll back',
    );
  }
}

/** Open transaction of a handler. */
export class HandlerTransaction {
  readonly client: SqlTransaction;
  readonly #session: PostgresClient;
  readonly #database: Database;
  readonly #id: string;
  #isOpen = true;

  constructor(session: PostgresClient, database: Database, id: string) {
    this.client = session;
    this.#session = session;
    this.#database = database;
    this.#id = id;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Calls a function of the schema. @throws {TransactionEndedError} */
  async call(name: string, args: readonly Argument[]): Promise<unknown> {
    const parameters = args.map((_, index) => `$${index + 2}`).join(', ');
    // In a transaction of its own the function would record what was not written.
    const text = `SELECT current_setting('${marker}', true) = $1 AS is_open,
      CASE WHEN current_setting('${marker}', true) = $1 THEN hub.${name}(${parameters}) END AS result`;
    const { rows } = await this.#session
      .query(this.#database.sql(text), [this.#id, ...args])
      .catch((error: unknown) => {
        const state = sqlStateOf(error);
        // The callback left its transaction aborted, or another transaction took precedence.
        if (state === aborted || repeatable.has(state)) throw error;
        return failStore(error);
      });
    const [row] = rows;
    if (row?.['is_open'] !== true) throw new TransactionEndedError();
    return row['result'];
  }

  async commit(): Promise<void> {
    await this.#session.query('COMMIT');
    this.#isOpen = false;
    this.#database.onWrite();
  }

  async rollback(): Promise<void> {
    await this.#session.query('ROLLBACK');
    this.#isOpen = false;
  }
}

/**
 * Runs a transaction of a handler, which ends it. Deadlocks and serialization failures repeat it. Rejects with what `run`
 * throws.
 *
 * @throws {TransportUnavailableError} if the connection was lost
 */
export async function runTransaction<T>(
  database: Database,
  { isolation = 'read committed' }: TransactionSettings,
  run: (tx: HandlerTransaction) => Promise<T>,
): Promise<T> {
  for (let repetition = 1; ; repetition += 1) {
    try {
      return await runOnce(database, isolation, run);
    } catch (error) {
      if (!repeatable.has(sqlStateOf(error)) || repetition > maxRepetitions) throw error;
      await delay(Math.random() * 5 * repetition);
    }
  }
}

async function runOnce<T>(
  database: Database,
  isolation: string,
  run: (tx: HandlerTransaction) => Promise<T>,
): Promise<T> {
  const { client, release } = await database.handlerSession();
  let lost: Error | undefined;
  const lose = (error: Error): void => {
    lost = error;
  };
  client.on('error', lose);
  const id = crypto.randomUUID();
  const tx = new HandlerTransaction(client, database, id);
  let isReusable = true;
  try {
    await client.query(`BEGIN ISOLATION LEVEL ${isolation}; SET LOCAL ${marker} = '${id}'`).catch(failStore);
    return await run(tx);
  } catch (error) {
    // The event of a lost connection follows the errors of its statements.
    await delay(0);
    const isLost = lost !== undefined || lossStates.test(sqlStateOf(error));
    isReusable = !isLost && (!tx.isOpen || (await rollBack(client)));
    if (isLost && !HubError.is(error)) failStore(lost ?? error);
    throw error;
  } finally {
    client.off('error', lose);
    release(!isReusable);
  }
}

// Exceptions of the connection, and the end of a session by the server.
const lossStates = /^08|^57P0|^25P03$/;

function failStore(error: unknown): never {
  throw new TransportUnavailableError('a transaction was not carried out', error, 'what it records is repeated');
}

function rollBack(client: PostgresClient): Promise<boolean> {
  return client.query('ROLLBACK').then(
    () => true,
    () => false,
  );
}
