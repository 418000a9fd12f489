import { randomUUID } from 'node:crypto';
import { startPostgresServer } from '../../scripts/postgres-server.js';
import type { Codec } from '../transports/codec.js';
import { memoryTransport } from '../transports/memory/memory-transport.js';
import { postgresTransport } from '../transports/postgres/postgres-transport.js';
import { redisTransport } from '../transports/redis/redis-transport.js';
import { sqliteTransport } from '../transports/sqlite/sqlite-transport.js';
import type { Transport } from '../transports/transport.js';
import { newStoreFile, redisUrl } from './stores.fixture.js';

interface CodecOption {
  readonly codec?: Codec;
}

// It ends with the process, which may run the tests of several files.
const postgres = await startPostgresServer();

/** Transports on which a test runs, each with a function that creates one without any events. */
export const everyTransport: readonly (readonly [name: string, create: (options?: CodecOption) => Transport])[] = [
  ['memory', (options) => memoryTransport(options)],
  ['sqlite', (options) => sqliteTransport({ file: newStoreFile(), ...options })],
  ['redis', (options) => redisTransport({ url: redisUrl(), prefix: randomUUID(), emitTimeoutMs: 60_000, ...options })],
  [
    'postgres',
    (options) => {
      const schema = `s${randomUUID().replaceAll('-', '')}`;
      return postgresTransport({ connectionString: postgres.url, schema, emitTimeoutMs: 60_000, ...options });
    },
  ],
];
