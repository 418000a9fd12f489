import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createHub, type Hub } from 'hubline';
import { redisTransport } from 'hubline/redis';
import { onTestFinished } from 'vitest';
import { type RedisServer, startRedisServer } from '../../scripts/redis-server.js';
import { type LedgerEntry, readLedger } from './ledger.js';
import type { startWorker } from './start-worker.js';

/** Redis, hub and worker options of one test. The hub handles nothing. */
export interface Scene {
  readonly server: RedisServer;
  readonly hub: Hub;
  /** Returns the options of the test's workers. */
  workers(scenario: string): Parameters<typeof startWorker>[0];
  ledger(): LedgerEntry[];
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
): Promise<Scene> {
  const server = await startRedisServer(settings);
  const folder = mkdtempSync(join(tmpdir(), 'hubline-ledger-'));
  const address = (await url?.(server)) ?? server.url;
  const prefix = randomUUID();
  const hub = createHub({ service: 'test', transport: redisTransport({ url: address, prefix, emitTimeoutMs }) });
  for (const type of types) hub.event({ type });
  await hub.start();
  onTestFinished(async () => {
    await hub.stop();
    await server.release();
    rmSync(folder, { recursive: true });
  });
  return {
    server,
    hub,
    workers: (scenario) => ({ scenario, url: address, prefix, ledger: folder }),
    ledger: () => readLedger(folder),
  };
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
