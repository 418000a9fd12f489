import { OptionChecker } from '../../options.js';
import { maxTimeoutMs } from '../clock.js';
import { type Codec, resolveCodec } from '../codec.js';
import { defaultMaxCrashes, defaultMaxDeadLetters, leastCrashes } from '../limits.js';

/** Result of a query. */
export interface PostgresResult {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/** Statement as `pg` takes it. One with a name is parsed once per session. */
export interface PostgresStatement {
  name: string;
  text: string;
  values: unknown[];
}

/** The part of a client of `pg` that the transport uses. */
export interface PostgresClient {
  /** Runs a statement in the session. */
  query(statement: string | PostgresStatement, values?: unknown[]): Promise<PostgresResult>;
  /** Adds a listener for notifications. */
  on(event: 'notification', listener: (message: { payload?: string | undefined }) => void): this;
  /** Adds a listener for the loss of the connection. */
  on(event: 'error', listener: (error: Error) => void): this;
  /** Adds a listener for the end of the connection. */
  on(event: 'end', listener: () => void): this;
  /** Removes a listener for notifications. */
  off(event: 'notification', listener: (message: { payload?: string | undefined }) => void): this;
  /** Removes a listener for the loss or the end of the connection. */
  off(event: 'error' | 'end', listener: (error: Error) => void): this;
  /** Returns the client to its pool, or ends its connection. */
  release(destroy?: boolean | Error): void;
}

/** The part of a pool of `pg` that the transport uses. */
export interface PostgresPool {
  readonly options?: { readonly max?: number | undefined };
  /** Number of calls that wait for a client. */
  readonly waitingCount?: number;
  /** Runs a statement in any session. */
  query(statement: string | PostgresStatement, values?: unknown[]): Promise<PostgresResult>;
  /** Passes a client that nothing else uses until its `release`. */
  connect(callback: (error: Error | undefined, client: PostgresClient | undefined) => void): void;
}

/** Options of `postgresTransport`. */
export interface PostgresTransportOptions {
  /**
   * Pool of `pg` 8. The transport keeps one of its clients for notifications, and never ends the pool. Its `query` receives
   * texts with values, and statements as {@link PostgresStatement}.
   */
  pool?: PostgresPool;
  /** Address of the server, such as `postgres://user:password@host:5432/database`, instead of `pool`. */
  connectionString?: string;
  /** Schema of the tables. Systems with different schemas can share a database. @default 'hubline' */
  schema?: string;
  /**
   * Time without a sign of life after which the events of a process run in another one, in milliseconds.
   *
   * @default 10_000
   */
  lockDurationMs?: number;
  /** Interval at which a process looks for events of which no notification arrived, in milliseconds. @default 2_000 */
  pollIntervalMs?: number;
  /**
   * Notify the other processes when a transaction commits in which this one emitted with `tx`. `NOTIFY` takes a lock that
   * all such commits of the server share. With `false`, they find the events at their next poll. All processes need the
   * same value.
   *
   * @default true
   */
  notify?: boolean;
  /**
   * Create the tables and update them when a process starts. With `false`, a role that may do so runs
   * `npx hubline migrate` before.
   *
   * @default true
   */
  migrate?: boolean;
  /** Milliseconds until an emit or a read rejects with `TransportUnavailableError`. @default 10_000 */
  emitTimeoutMs?: number;
  /** Maximum number of pending events of the schema, beyond which `emit` rejects with `BackpressureError`. @default no limit */
  maxPending?: number;
  /** Number of process crashes in a row after which an event fails with `CrashLoopError`: 2 or more. @default 5 */
  maxCrashes?: number;
  /** Maximum number of dead letters per service and type, retained with their payloads for `hub.replay`. @default 1_000 */
  maxDeadLetters?: number;
  /** Age in milliseconds at which a dead letter is evicted with its payload. @default no limit */
  maxDeadLetterAgeMs?: number;
  /**
   * Encodes payloads, results, checkpoints and key-values before they leave the process, and hashes keys. Every process
   * needs the same codec.
   *
   * @default stored as JSON text
   */
  codec?: Codec;
}

/** Checked options, with defaults. */
export interface PostgresSettings {
  readonly pool: PostgresPool | undefined;
  readonly connectionString: string | undefined;
  readonly schema: string;
  readonly lockDurationMs: number;
  readonly pollIntervalMs: number;
  readonly notify: boolean;
  readonly migrate: boolean;
  readonly emitTimeoutMs: number;
  readonly maxPending: number | undefined;
  readonly maxCrashes: number;
  readonly maxDeadLetters: number;
  readonly maxDeadLetterAgeMs: number | undefined;
  readonly codec: Codec | undefined;
}

const optionNames = [
  'pool',
  'connectionString',
  'schema',
  'lockDurationMs',
  'pollIntervalMs',
  'notify',
  'migrate',
  'emitTimeoutMs',
  'maxPending',
  'maxCrashes',
  'maxDeadLetters',
  'maxDeadLetterAgeMs',
  'codec',
] as const;

/** @throws {InvalidOptionError} */
export function resolvePostgresOptions(options: PostgresTransportOptions): PostgresSettings {
  const check = new OptionChecker(options, optionNames, 'postgresTransport', undefined, 'type');
  const { pool, connectionString, schema = 'hubline', lockDurationMs = 10_000, pollIntervalMs = 2_000 } = options;
  const { notify = true, migrate = true, emitTimeoutMs = 10_000, maxPending } = options;
  const { maxCrashes = defaultMaxCrashes, maxDeadLetters = defaultMaxDeadLetters, maxDeadLetterAgeMs } = options;
  const isPool = typeof pool?.connect === 'function' && typeof pool.query === 'function';
  check.that(pool === undefined || isPool, 'pool', 'a pool of pg', pool);
  const isUrl = typeof connectionString === 'string' && /^postgres(ql)?:\/\//.test(connectionString);
  const isOne = pool === undefined ? isUrl : connectionString === undefined;
  check.that(
    isOne,
    'connectionString',
    'an address such as postgres://host/database, or else a pool',
    connectionString,
  );
  // With the prefix of its channel an identifier of Postgres, which has at most 63 bytes.
  check.that(/^[a-z_][a-z0-9_]{0,47}$/.test(schema), 'schema', '1 to 48 small letters, digits and _', schema);
  for (const [name, ms] of Object.entries({ lockDurationMs, pollIntervalMs })) {
    check.count(name, ms, { min: 10, max: maxTimeoutMs });
  }
  check.boolean('notify', notify);
  check.boolean('migrate', migrate);
  check.count('emitTimeoutMs', emitTimeoutMs, { min: 1, max: maxTimeoutMs });
  if (maxPending !== undefined) check.count('maxPending', maxPending, { min: 1 });
  check.count('maxCrashes', maxCrashes, { min: leastCrashes });
  check.count('maxDeadLetters', maxDeadLetters, { min: 0 });
  check.durationMs('maxDeadLetterAgeMs', maxDeadLetterAgeMs, { min: 1 });
  const codec = resolveCodec(options.codec, check);
  const calls = { migrate, emitTimeoutMs, maxPending };
  const limits = { ...calls, lockDurationMs, pollIntervalMs, notify, maxCrashes, maxDeadLetters, maxDeadLetterAgeMs };
  return { pool, connectionString, schema, ...limits, codec };
}
