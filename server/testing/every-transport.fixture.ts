import { randomUUID } from 'node:crypto';
import { memoryTransport } from '../transports/memory/memory-transport.js';
import { redisTransport } from '../transports/redis/redis-transport.js';
import { sqliteTransport } from '../transports/sqlite/sqlite-transport.js';
import type { Transport } from '../transports/transport.js';
import { newStoreFile, redisUrl } from './stores.fixture.js';

/** Transports on which a test runs, each with a function that creates one without any events. */
export const everyTransport: readonly (readonly [name: string, create: () => Transport])[] = [
  ['memory', () => memoryTransport()],
  ['sqlite', () => sqliteTransport({ file: newStoreFile() })],
  ['redis', () => redisTransport({ url: redisUrl(), prefix: randomUUID(), emitTimeoutMs: 60_000 })],
];
