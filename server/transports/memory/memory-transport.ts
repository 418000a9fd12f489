import { quote } from '../../errors.js';
import { OptionChecker } from '../../options.js';
import { Broker } from '../broker/broker.js';
import { BrokerManager } from '../broker/broker-manager.js';
import { TurnBudget } from '../broker/dispatcher.js';
import { type Clock, systemClock } from '../clock.js';
import { type Codec, CodedTransport, resolveCodec } from '../codec.js';
import { BackpressureError, KeyTypeError } from '../errors.js';
import { CheckedKeyValueStore, type KeyValueStore } from '../key-values.js';
import { defaultMaxDeadLetters, maxListLength } from '../limits.js';
import type { Transport } from '../transport.js';

/** Options of {@link memoryTransport}. */
export interface MemoryTransportOptions {
  /** Maximum number of pending events of all hubs on the transport; `emit` rejects past it. @default 1_000_000 */
  maxPending?: number;
  /**
   * Maximum size of the payloads of all pending events, in bytes of JSON; `emit` rejects past it.
   * @default 536_870_912 (512 MiB)
   */
  maxPendingBytes?: number;
  /** Maximum number of dead letters per service and type, retained with their payloads for `hub.replay`. @default 1_000 */
  maxDeadLetters?: number;
  /** Age at which a dead letter is evicted with its payload, in milliseconds. @default no limit */
  maxDeadLetterAgeMs?: number;
  /** Encodes the stored payloads, results, checkpoints and key-values. @default stored as JSON text */
  codec?: Codec;
  /** Source of time; a fake clock in tests. @default the system clock */
  clock?: Clock;
}

/**
 * Creates the default transport, which keeps events in this process. Hubs with the same transport share their events,
 * and a hub created later handles the events that an earlier one left pending. Pending events are lost when the
 * process exits.
 *
 * @throws {InvalidOptionError}
 */
export function memoryTransport(options: MemoryTransportOptions = {}): Transport {
  const check = new OptionChecker(
    options,
    ['maxPending', 'maxPendingBytes', 'maxDeadLetters', 'maxDeadLetterAgeMs', 'codec', 'clock'],
    'memoryTransport',
  );
  check.count('maxPending', options.maxPending);
  check.count('maxPendingBytes', options.maxPendingBytes);
  check.count('maxDeadLetters', options.maxDeadLetters, { min: 0 });
  check.durationMs('maxDeadLetterAgeMs', options.maxDeadLetterAgeMs, { min: 1 });
  const codec = resolveCodec(options.codec, check);
  const { maxDeadLetterAgeMs = Number.POSITIVE_INFINITY } = options;
  const { maxPending = 1_000_000, maxPendingBytes = 512 * 1024 * 1024 } = options;
  const { maxDeadLetters = defaultMaxDeadLetters, clock = systemClock } = options;
  const broker = new Broker(clock, { maxPending, maxPendingBytes, maxDeadLetters, maxDeadLetterAgeMs });
  const kv = new CheckedKeyValueStore(new MemoryKeyValueStore(clock));
  return {
    connect: ({ service }) => {
      const manager = new BrokerManager('memory', service, broker, kv);
      return codec === undefined ? manager : new CodedTransport(manager, codec);
    },
  };
}

interface Entry {
  readonly value: string | string[];
  readonly expiresAt: number;
}

const maxKeys = 1_000_000;

/** In-process store of at most 1,000,000 keys. Writes evict expired keys. */
class MemoryKeyValueStore implements KeyValueStore {
  readonly #entries = new Map<string, Entry>();
  readonly #clock: Clock;
  readonly #turns: TurnBudget;
  #sweep: MapIterator<[string, Entry]> = this.#entries.entries();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#turns = new TurnBudget(clock);
  }

  async get(key: string): Promise<string | undefined> {
    return this.#turns.afterCall(this.#string(key));
  }

  async set(key: string, value: string, options: { ttlMs?: number; ifAbsent?: boolean } = {}): Promise<boolean> {
    if (options.ifAbsent === true && this.#live(key) !== undefined) return this.#turns.afterCall(false);
    this.#write(key, value, options.ttlMs);
    return this.#turns.afterCall(true);
  }

  async delete(key: string): Promise<boolean> {
    const existed = this.#live(key) !== undefined;
    this.#entries.delete(key);
    return this.#turns.afterCall(existed);
  }

  async increment(key: string, by = 1, ttlMs?: number): Promise<number> {
    const current = this.#string(key) ?? '0';
    const number = Number(current);
    if (!Number.isSafeInteger(number) || String(number) !== current) throw new KeyTypeError(key, 'a whole number');
    this.#write(key, String(number + by), ttlMs);
    return this.#turns.afterCall(number + by);
  }

  async append(
    key: string,
    values: readonly string[],
    options: { keepLast?: number; ttlMs?: number } = {},
  ): Promise<number> {
    const { keepLast = Number.POSITIVE_INFINITY, ttlMs } = options;
    const list = this.#list(key) ?? [];
    const length = Math.min(list.length + values.length, keepLast);
    if (length === 0) return 0;
    if (length > maxListLength) throw new BackpressureError(`list ${quote(key)}`, `${maxListLength} entries`);
    this.#write(key, list, ttlMs);
    for (const value of values) list.push(value);
    list.splice(0, list.length - length);
    return this.#turns.afterCall(length);
  }

  async range(key: string, from: number, to: number): Promise<string[]> {
    const list = this.#list(key) ?? [];
    return this.#turns.afterCall(list.slice(from, Math.max(0, (to < 0 ? list.length + to : to) + 1)));
  }

  #live(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && entry.expiresAt > this.#clock.now() ? entry : undefined;
  }

  #string(key: string): string | undefined {
    const value = this.#live(key)?.value;
    if (Array.isArray(value)) throw new KeyTypeError(key, 'a string');
    return value;
  }

  #list(key: string): string[] | undefined {
    const value = this.#live(key)?.value;
    if (typeof value === 'string') throw new KeyTypeError(key, 'a list');
    return value;
  }

  #write(key: string, value: string | string[], ttlMs: number | undefined): void {
    this.#sweepTwo();
    if (this.#entries.size >= maxKeys && !this.#entries.has(key)) {
      throw new BackpressureError('the key-value store', `${maxKeys} keys`);
    }
    const expiresAt = ttlMs === undefined ? Number.POSITIVE_INFINITY : this.#clock.now() + ttlMs;
    this.#entries.set(key, { value, expiresAt });
  }

  // Two keys per write keep pace with the one that it may add, without a timer or a long pause.
  #sweepTwo(): void {
    for (let i = 0; i < 2; i += 1) {
      const next = this.#sweep.next();
      if (next.done === true) {
        this.#sweep = this.#entries.entries();
        return;
      }
      const [key, { expiresAt }] = next.value;
      if (expiresAt <= this.#clock.now()) this.#entries.delete(key);
    }
  }
}
