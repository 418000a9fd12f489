import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.js';
import type { Delivery, Subscription } from '../delivery.js';
import { silentLogger, type TransportManager } from '../transport.js';
import type { Database } from './database/driver.js';
import { openPatiently } from './open-patiently.fixture.js';
import type { SqliteTransportOptions } from './sqlite-options.js';
import { sqliteTransport } from './sqlite-transport.js';

/** Returns the path of a file that does not exist yet, in a folder that is deleted after the test. */
export function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hubline-sqlite-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, 'hub.db');
}

/** Opens a file beside its transport, until the test has finished. */
export async function openBeside(file: string): Promise<Database> {
  const database = await openPatiently(file);
  onTestFinished(() => database.close());
  return database;
}

/** A process with one service on a file. */
export interface Process {
  readonly transport: TransportManager;
  readonly clock: FakeClock;
  readonly deliveries: Delivery[];
}

/**
 * Starts a service on a file, as a new process does, and stops it after the test.
 *
 * @param onDelivery called when an event is handed out
 */
export async function startProcess(
  options: SqliteTransportOptions & { readonly clock?: FakeClock },
  subscriptions: readonly Subscription[],
  onDelivery: (delivery: Delivery) => void = () => {},
): Promise<Process> {
  const { clock = createFakeClock() } = options;
  const transport = sqliteTransport({ clock, ...options }).connect({ service: 'shop', logger: silentLogger });
  const deliveries: Delivery[] = [];
  onTestFinished(async () => {
    await transport.close({ drainMs: 0 });
  });
  await transport.start({
    concurrency: 100,
    subscriptions,
    onDelivery: (delivery) => {
      deliveries.push(delivery);
      onDelivery(delivery);
    },
  });
  return { transport, clock, deliveries };
}
