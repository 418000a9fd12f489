import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createHub, type Hub } from 'hubline';
import { redisTransport } from 'hubline/redis';
import { onTestFinished } from 'vitest';
import { type RedisServer, startRedisServer } from '../scripts/redis-server.js';
import { type LedgerEntry, readLedger } from './ledger.js';
import type { startWorker } from './start-worker.js';

/** A test's Redis, its hub, which handles nothing, and what workers are told. */
export interface Scene {
  readonly server: RedisServer;
  readonly hub: Hub;
  /** What every worker of the test gets. */
  workers(scenario: string): Parameters<typeof startWorker>[0];
  ledger(): LedgerEntry[];
}

/** How much of a test to run: `npm run test:faults` runs all of it. */
export const isLong: boolean = process.env['HUBLINE_FAULTS'] === 'long';

/** @param url where the hub and the workers find Redis, where that is not the server's own address */
export async function setScene(
  types: readonly string[],
  { settings = [], url }: { settings?: readonly string[]; url?: (server: RedisServer) => Promise<string> } = {},
): Promise<Scene> {
  const server = await startRedisServer(settings);
  const folder = mkdtempSync(join(tmpdir(), 'hubline-ledger-'));
  const address = (await url?.(server)) ?? server.url;
  const prefix = randomUUID();
  const hub = createHub({ service: 'test', transport: redisTransport({ url: address, prefix }) });
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

/** Waits until a condition holds. @throws after `timeoutMs` */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 30_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`${what}: not within ${timeoutMs} ms`);
    await delay(20);
  }
}
