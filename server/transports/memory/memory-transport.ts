import { OptionChecker } from '../../options.js';
import { CheckedLog } from '../bounded-log.js';
import { Broker } from '../broker/broker.js';
import { BrokerManager } from '../broker/broker-manager.js';
import { noJournal } from '../broker/journal.js';
import { type Clock, systemClock } from '../clock.js';
import { type Codec, resolveCodec } from '../codec.js';
import { CodedTransport } from '../coded-transport.js';
import { CheckedKeyValueStore } from '../key-values.js';
import { defaultMaxDeadLetters } from '../limits.js';
import type { Transport } from '../transport.js';
import { MemoryKeyValueStore } from './memory-key-values.js';
import { MemoryLog } from './memory-log.js';

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
  const logs = new MemoryLog(clock);
  const journal = { ...noJournal, dropLog: (name: string) => void logs.drop(name) };
  const limits = { maxPending, maxPendingBytes, maxDeadLetters, maxDeadLetterAgeMs };
  const broker = new Broker(clock, limits, journal);
  const kv = new CheckedKeyValueStore(new MemoryKeyValueStore(clock));
  const log = new CheckedLog(logs);
  return {
    connect: ({ service }) => {
      const manager = new BrokerManager('memory', service, broker, { kv, log });
      return codec === undefined ? manager : new CodedTransport(manager, codec);
    },
  };
}
