import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { HubError } from '../../../errors.js';
import { MissingPackageError, TransportUnavailableError } from '../../errors.js';
import { type BatchLimits, TickBatch } from '../../tick-batch.js';
import type { PostgresClient, PostgresPool, PostgresSettings } from '../postgres-options.js';
import { migrate, type SchemaName, schemaName } from './migrations.js';
import { isConflict, isUnprepared, isUnsent, translateError } from './postgres-errors.js';

// They wait as long as the lock of a process lasts: their effect is not repeated for a caller.
const patientCalls = new Set([
  ...['claim', 'conclude', 'heartbeat', 'checkpoint', 'add_waits', 'decide', 'join_member', 'leave', 'release_events'],
  ...['conclude_and_claim', 'receive', 'free_slot', 'take_ends', 'watch_ends', 'pause', 'retire'],
]);
// Those of which notifications tell.
const notifyingCalls = new Set([
  ...[
    'accept',
    'conclude',
    'conclude_and_claim',
    'checkpoint',
    'add_waits',
    'decide',
    'end_run',
    'cancel_event',
    'replay',
    'pause',
    'retire',
  ],
  ...['claim_schedule', 'claim_stored', 'put_schedule', 'free_slot', 'release_events', 'leave'],
]);
const maxRepetitions = 10;
const connectTimeoutMs = 5_000;
const ignore = (): void => {};

/** Value of an argument of a function. */
export type Argument = string | number | boolean | null | Buffer | readonly (string | number | Buffer)[];

interface Read {
  readonly name: string;
  readonly args: readonly Argument[];
}

interface ReadReply {
  read(): Promise<unknown>;
}

// They do not wait for reads that look at many rows.
const quickReads = new Set(['kv_get']);
// No state, or that of a connection that is lost.
const unanswered = /^(?:$|08|57P)/;
const readLimits: BatchLimits<Read> = { maxSize: 20, maxWeight: 20, weigh: () => 1 };

/** Statement for the schema. With a name, each session parses it once. */
interface Statement {
  readonly name?: string;
  readonly text: string;
}

/** Runs statements in a session of its own, or in any of the pool. */
export interface Session extends Pick<PostgresPool, 'query'> {
  /** A statement was not answered in time: its connection may hang. */
  giveUp?(): void;
}

/** Schema of a transport, and the pool that all its connections share. */
export class Database {
  readonly settings: PostgresSettings;
  /** Called after a call that may have sent notifications. */
  onWrite = (): void => {};
  readonly #name: SchemaName;
  readonly #reads = new TickBatch<Read, ReadReply>(readLimits, (reads) => this.#readAll(reads));
  readonly #quickReads = new TickBatch<Read, ReadReply>(readLimits, (reads) => this.#readAll(reads));
  /** Pool of the last statement. */
  #lastPool: PostgresPool | undefined;
  /** Statements of calls, by function and number of arguments. */
  readonly #calls = new Map<string, Statement>();
  /** Statements may have names: none was lost yet, as behind a pooler that changes sessions. */
  #mayPrepare = true;
  /** Sessions of handlers, and those who wait for one. */
  #handlers = 0;
  readonly #waiting: (() => void)[] = [];
  #pool: Promise<PostgresPool> | undefined;
  #ready: Promise<void> | undefined;
  #identity: Promise<string> | undefined;

  constructor(settings: PostgresSettings) {
    this.settings = settings;
    this.#name = schemaName(settings.schema);
  }

  get channel(): string {
    return this.#name.channel;
  }

  /** Limits of this process as the functions of the schema read them. */
  get limits(): string {
    const { maxDeadLetters, maxDeadLetterAgeMs = '' } = this.settings;
    return `(${maxDeadLetters},${maxDeadLetterAgeMs})`;
  }

  /** Calls a function of the schema. A call that had no effect because of another transaction is repeated. */
  async call(name: string, args: readonly Argument[], session?: Session): Promise<unknown> {
    const { lockDurationMs, emitTimeoutMs } = this.settings;
    const limitMs = patientCalls.has(name) ? Math.max(lockDurationMs, emitTimeoutMs) : emitTimeoutMs;
    const [row] = await this.#run(this.#callOf(name, args.length), args, session, limitMs);
    if (notifyingCalls.has(name)) this.onWrite();
    return row?.['result'];
  }

  #callOf(name: string, count: number): Statement {
    const key = `${name} ${count}`;
    let call = this.#calls.get(key);
    if (call === undefined) {
      const parameters = Array.from({ length: count }, (_, index) => `$${index + 1}`).join(', ');
      const text = this.sql(`SELECT hub.${name}(${parameters}) AS result`);
      // A name has at most 63 bytes. Processes that share a session, behind a pooler, mean the same by it.
      call = { name: `hubline_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`, text };
      this.#calls.set(key, call);
    }
    return call;
  }

  /**
   * Calls a function that changes nothing. The reads of one turn of the event loop are one statement, and so of one
   * snapshot; those of key-values are one of their own.
   */
  async read(name: string, args: readonly Argument[]): Promise<unknown> {
    const { read } = await (quickReads.has(name) ? this.#quickReads : this.#reads).add({ name, args });
    return read();
  }

  async #readAll(reads: readonly Read[]): Promise<readonly ReadReply[]> {
    const values: Argument[] = [];
    const calls = reads.map(({ name, args }, index) => {
      const parameters = args.map((value) => `$${values.push(value)}`);
      return `hub.${name}(${parameters.join(', ')}) AS read${index}`;
    });
    try {
      const [row] = await this.query(`SELECT ${calls.join(', ')}`, values);
      return reads.map((_, index) => ({ read: async () => row?.[`read${index}`] }));
    } catch (error) {
      if (reads.length === 1 || unanswered.test(sqlStateOf(error))) throw error;
      // A read that the server refuses, or cancels, fails alone.
      return reads.map(({ name, args }) => ({ read: () => this.call(name, args) }));
    }
  }

  /**
   * Runs a statement, in which `hub.` stands for the schema. It is repeated if it had no effect: because of another
   * transaction, or because the server took no connection.
   *
   * @throws {TransportUnavailableError} also if there is no reply in time
   */
  query(text: string, args: readonly Argument[]): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return this.#run({ text: this.sql(text) }, args, undefined, this.settings.emitTimeoutMs);
  }

  async #run(
    statement: Statement,
    args: readonly Argument[],
    session: Session | undefined,
    limitMs: number,
  ): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), limitMs);
    const late = new Promise<never>((_, reject) => {
      limit.signal.addEventListener('abort', () => {
        session?.giveUp?.();
        reject(this.#noAnswer(limitMs, session));
      });
    });
    try {
      return await Promise.race([this.#runRepeatedly(statement, args, session, limit.signal), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  #noAnswer(limitMs: number, session: Session | undefined): TransportUnavailableError {
    const problem = `Postgres did not answer within ${limitMs} ms`;
    const { waitingCount = 0, options: { max = 10 } = {} } = this.#lastPool ?? {};
    if (session !== undefined || waitingCount === 0) return new TransportUnavailableError(problem);
    // The application may hold them, or the server may answer none of them.
    const advice = 'repeat the call when it is available again, or raise the max of the pool';
    const waiting = `${problem}, while calls waited for one of the ${max} connections of the pool`;
    return new TransportUnavailableError(waiting, undefined, advice);
  }

  async #runRepeatedly(
    { name, text }: Statement,
    args: readonly Argument[],
    session: Session | undefined,
    limit: AbortSignal,
  ): Promise<readonly Readonly<Record<string, unknown>>[]> {
    for (let repetition = 1; ; repetition += 1) {
      const isPrepared = name !== undefined && this.#mayPrepare;
      try {
        await this.ready();
        this.#lastPool = await this.pool();
        const queryable = session ?? this.#lastPool;
        const values = [...args];
        return (await (isPrepared ? queryable.query({ name, text, values }) : queryable.query(text, values))).rows;
      } catch (error) {
        const cause = error instanceof TransportUnavailableError ? error.cause : error;
        if (isPrepared && isUnprepared(cause)) {
          this.#mayPrepare = false;
          continue;
        }
        if (limit.aborted || !(isUnsent(cause) || (isConflict(cause) && repetition <= maxRepetitions))) {
          throw this.#translate(error);
        }
        await delay(Math.random() * 5 * Math.min(repetition, 40));
      }
    }
  }

  /** Returns the id of the data of the schema, by which a transaction of another database is told. */
  identity(): Promise<string> {
    this.#identity ??= this.query('SELECT id FROM hub.identity', []).then(
      ([row]) => String(row?.['id']),
      (error: unknown) => {
        this.#identity = undefined;
        throw error;
      },
    );
    return this.#identity;
  }

  /** Returns a statement in which `hub.` stands for the schema. */
  sql(text: string): string {
    return this.#name.sql(text);
  }

  /** Runs statements in one transaction, which reads what others have committed meanwhile. */
  async transaction<T>(run: (query: Database['query']) => Promise<T>): Promise<T> {
    const client = await this.session();
    try {
      await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
      const result = await run(async (text, args) => (await client.query(this.sql(text), [...args])).rows);
      await client.query('COMMIT');
      client.release();
      return result;
    } catch (error) {
      // Ends the transaction with its session.
      client.release(true);
      throw this.#translate(error);
    }
  }

  /** Returns a session for a transaction of a handler. They take half of the pool: the transport needs the others. */
  async handlerSession(): Promise<{ readonly client: PostgresClient; release(destroy: boolean): void }> {
    const { options: { max = 10 } = {} } = await this.pool();
    if (this.#handlers >= Math.max(1, Math.floor(max / 2))) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#handlers += 1;
    const next = (): void => {
      const waiting = this.#waiting.shift();
      if (waiting === undefined) this.#handlers -= 1;
      else waiting();
    };
    try {
      const client = await this.session();
      return {
        client,
        release(destroy) {
          client.release(destroy);
          next();
        },
      };
    } catch (error) {
      next();
      throw this.#translate(error);
    }
  }

  /** Returns a session that no other call uses. Its statements report the loss of its connection. */
  async session(): Promise<PostgresClient> {
    await this.ready();
    return this.#checkOut();
  }

  async #checkOut(): Promise<PostgresClient> {
    const pool = await this.pool();
    return new Promise((resolve, reject) => {
      // A connection that is lost while nothing listens ends the process, even before a promise resolves.
      pool.connect((error, client) => {
        if (client === undefined) reject(error);
        else resolve(client.off('error', ignore).on('error', ignore));
      });
    });
  }

  /** Resolves when the tables are those of this version. */
  ready(): Promise<void> {
    this.#ready ??= this.migrate().then(
      () => {},
      (error: unknown) => {
        this.#ready = undefined;
        throw error;
      },
    );
    return this.#ready;
  }

  pool(): Promise<PostgresPool> {
    this.#pool ??= this.#connect();
    return this.#pool;
  }

  async #connect(): Promise<PostgresPool> {
    const { pool, connectionString } = this.settings;
    if (pool !== undefined) return pool;
    const { default: pg } = await import('pg').catch((error: unknown) => {
      throw new MissingPackageError('postgresTransport', 'pg', error);
    });
    const own = new pg.Pool({
      connectionString,
      allowExitOnIdle: true,
      connectionTimeoutMillis: connectTimeoutMs,
      keepAlive: true,
    });
    // A connection that is lost while it is idle is replaced at the next call.
    own.on('error', ignore);
    return own;
  }

  /** Brings the tables to this version, or checks it if the settings say so. Returns the number of migrations. */
  async migrate(): Promise<number> {
    let client: PostgresClient | undefined;
    try {
      client = await this.#checkOut();
      const count = await migrate(client, this.#name, this.settings.migrate);
      client.release();
      return count;
    } catch (error) {
      // The session may be lost, or in a transaction.
      client?.release(true);
      throw this.#translate(error);
    }
  }

  #translate(error: unknown): unknown {
    if (HubError.is(error)) return error;
    return translateError(error, this.settings.maxPending);
  }
}

// Not a code of Prisma, such as P2010, nor of Node.
const sqlState = /^(?!P[1-9])(?=.*\d)[0-9A-Z]{5}$/;

/** Returns the SQLSTATE of an error, which clients may wrap; `''` without one. */
export function sqlStateOf(error: unknown, depth = 0): string {
  const { code, originalCode, ...rest } = readProperties(error);
  const found = [code, originalCode].find((each) => typeof each === 'string' && sqlState.test(each));
  if (typeof found === 'string') return found;
  const inner = [rest['cause'], rest['meta'], rest['driverAdapterError']];
  if (depth >= 4) return '';
  return inner.map((each) => (each === undefined ? '' : sqlStateOf(each, depth + 1))).find((each) => each !== '') ?? '';
}

function readProperties(error: unknown): Readonly<Record<string, unknown>> {
  const { code, originalCode, cause, meta, driverAdapterError } = Object(error);
  return { code, originalCode, cause, meta, driverAdapterError };
}
