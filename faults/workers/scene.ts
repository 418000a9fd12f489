import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createHub, type Hub } from 'hubline';
import { postgresTransport } from 'hubline/postgres';
import { redisTransport } from 'hubline/redis';
import { onTestFinished } from 'vitest';
import { startPostgresServer } from '../../scripts/postgres-server.js';
import { type RedisServer, startRedisServer } from '../../scripts/redis-server.js';
import { type LedgerEntry, readLedger } from './ledger.js';
import type { startWorker } from './start-worker.js';

/** Hub and worker options of one test. The hub handles nothing. */
export interface Scene {
  readonly hub: Hub;
  /** Returns the options of the test's workers. */
  workers(scenario: string): Parameters<typeof startWorker>[0];
  ledger(): LedgerEntry[];
}

/** Scene on a Redis of its own. */
export interface RedisScene extends Scene {
  readonly server: RedisServer;
}

/** Scene on Postgres. */
export interface PostgresScene extends Scene {
  readonly schema: string;
}

/** Sets the scene of a test that runs on several stores. */
export type SetScene = (types: readonly string[]) => Promise<Scene>;

/** Starts a Postgres server and a hub that declares `types`. */
export const setPostgresScene: SetScene = async (types) => {
  const server = await startPostgresServer();
  return openPostgresScene(types, server.url, () => server.release());
};

/**
 * Starts a hub that declares `types` on a Postgres server.
 *
 * @param emitTimeoutMs time limit of the hub's operations. @default so long that only a test of outages reaches it
 */
export function openPostgresScene(
  types: readonly string[],
  url: string,
  release: () => Promise<void>,
  emitTimeoutMs: number = patientMs,
): Promise<PostgresScene> {
  const schema = `test_${randomUUID().replaceAll('-', '')}`;
  const transport = postgresTransport({ connectionString: url, schema, emitTimeoutMs });
  const hub = createHub({ service: 'test', transport });
  return openScene(types, hub, { url, prefix: schema }, release).then((scene) => ({ ...scene, schema }));
}

async function openScene(
  types: readonly string[],
  hub: Hub,
  { url, prefix }: { readonly url: string; readonly prefix: string },
  release: () => Promise<void>,
): Promise<Scene> {
  const folder = mkdtempSync(join(tmpdir(), 'hubline-ledger-'));
  for (const type of types) hub.event({ type });
  await hub.start();
  onTestFinished(async () => {
    await hub.stop();
    await release();
    rmSync(folder, { recursive: true });
  });
  return {
    hub,
    workers: (scenario) => ({ scenario, url, prefix, ledger: folder }),
    ledger: () => readLedger(folder),
  };
}

/** `true` for the long form of the tests: `npm run test:faults`. */
export const isLong: boolean = process.env['HUBLINE_FAULTS'] === 'long';

/** Time limit of operations for hubs of a machine with more to do than it can. */
export const patientMs = 120_000;

/**
 * Starts a Redis server and a hub that declares `types`.
 *
 * @param emitTimeoutMs time limit of the hub's operations. @default so long that only a test of outages reaches it
 * @param url returns the URL for the hub and the workers. @default the URL of the server
 */
export async function setScene(
  types: readonly string[],
  {
    settings = [],
    emitTimeoutMs = patientMs,
    url,
  }: { settings?: readonly string[]; emitTimeoutMs?: number; url?: (server: RedisServer) => Promise<string> } = {},
): Promise<RedisScene> {
  const server = await startRedisServer(settings);
  const address = (await url?.(server)) ?? server.url;
  const prefix = randomUUID();
  const hub = createHub({ service: 'test', transport: redisTransport({ url: address, prefix, emitTimeoutMs }) });
  return { server, ...(await openScene(types, hub, { url: address, prefix }, () => server.release())) };
}

// It ends what hangs, with a name, before the time limit of the test.
const untilLimitMs = 270_000;

/** Waits until a condition holds. @throws {Error} after `timeoutMs` */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs: number = untilLimitMs,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`${what}: not within ${timeoutMs} ms`);
    await delay(20);
  }
}
