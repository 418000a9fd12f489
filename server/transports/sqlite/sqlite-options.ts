import { OptionChecker } from '../../options.js';
import { type Clock, systemClock } from '../clock.js';
import { type Codec, resolveCodec } from '../codec.js';
import { defaultMaxCrashes, defaultMaxDeadLetters, leastCrashes } from '../limits.js';

/** Options of {@link sqliteTransport}. */
export interface SqliteTransportOptions {
  /** Path of the database file, which is created if it does not exist. Its folder must exist, on a local disk. */
  file: string;
  /**
   * `'full'` waits until the disk has each change, so that it survives a power loss. `'normal'` survives the end of the
   * process, however it ends, and may lose the last changes with a power loss.
   *
   * @default 'full'
   */
  synchronous?: 'full' | 'normal';
  /** Maximum number of pending events of all hubs on the transport; `emit` rejects past it. @default 1_000_000 */
  maxPending?: number;
  /**
   * Maximum size of the payloads of all pending events, in bytes of JSON; `emit` rejects past it.
   *
   * @default 536_870_912 (512 MiB)
   */
  maxPendingBytes?: number;
  /**
   * Maximum number of pending events in memory. Those beyond it stay in the file until it is their turn. Workflow runs
   * and events that hold a key are in memory in addition.
   *
   * @default 100_000
   */
  maxPendingInMemory?: number;
  /**
   * Number of process crashes in a row after which an event fails with `CrashLoopError`: 2 or more, because only a crash
   * in which the event ran alone proves that it is the cause. From 3 on, the first crash counts for all pending events.
   * With 2, the start of each event is stored before its handler runs, which takes up to half of the throughput.
   *
   * @default 5
   */
  maxCrashes?: number;
  /** Maximum number of dead letters per service and type, retained with their payloads for `hub.replay`. @default 1_000 */
  maxDeadLetters?: number;
  /** Age at which a dead letter is evicted with its payload, in milliseconds. @default no limit */
  maxDeadLetterAgeMs?: number;
  /** Encodes the stored payloads, results, checkpoints and key-values, and hashes keys. @default stored as JSON text */
  codec?: Codec;
  /** Source of time; a fake clock in tests. @default the system clock */
  clock?: Clock;
}

/** Checked options, with defaults. */
export interface SqliteSettings {
  readonly file: string;
  readonly synchronous: 'full' | 'normal';
  readonly maxPending: number;
  readonly maxPendingBytes: number;
  readonly maxPendingInMemory: number;
  readonly maxCrashes: number;
  readonly maxDeadLetters: number;
  readonly maxDeadLetterAgeMs: number;
  readonly codec: Codec | undefined;
  readonly clock: Clock;
}

const optionNames = [
  'file',
  'synchronous',
  'maxPending',
  'maxPendingBytes',
  'maxPendingInMemory',
  'maxCrashes',
  'maxDeadLetters',
  'maxDeadLetterAgeMs',
  'codec',
  'clock',
] as const;

/** @throws {InvalidOptionError} */
export function resolveSqliteOptions(options: SqliteTransportOptions): SqliteSettings {
  const check = new OptionChecker(options, optionNames, 'sqliteTransport');
  const { file, synchronous = 'full', clock = systemClock } = options;
  const { maxPending = 1_000_000, maxPendingBytes = 512 * 1024 * 1024 } = options;
  const { maxPendingInMemory = 100_000 } = options;
  const { maxCrashes = defaultMaxCrashes, maxDeadLetters = defaultMaxDeadLetters } = options;
  checkFile(check, file);
  const isLevel = synchronous === 'full' || synchronous === 'normal';
  check.that(isLevel, 'synchronous', "'full' or 'normal'", synchronous);
  check.count('maxPending', maxPending);
  check.count('maxPendingBytes', maxPendingBytes);
  check.count('maxPendingInMemory', maxPendingInMemory);
  check.count('maxCrashes', maxCrashes, { min: leastCrashes });
  check.count('maxDeadLetters', maxDeadLetters, { min: 0 });
  check.durationMs('maxDeadLetterAgeMs', options.maxDeadLetterAgeMs, { min: 1 });
  const { maxDeadLetterAgeMs = Number.POSITIVE_INFINITY } = options;
  const codec = resolveCodec(options.codec, check);
  const limits = { maxPending, maxPendingBytes, maxPendingInMemory, maxCrashes, maxDeadLetters, maxDeadLetterAgeMs };
  return { file, synchronous, ...limits, codec, clock };
}

/** @throws {InvalidOptionError} if a value is not the path of a file */
export function checkFile(check: OptionChecker, file: unknown): void {
  const isFile = typeof file === 'string' && file !== '' && !file.includes('\0') && !/^(:memory:|file:)/.test(file);
  check.that(isFile, 'file', 'the path of a file, such as hub.db', file);
}
