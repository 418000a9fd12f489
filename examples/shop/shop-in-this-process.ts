import type { Hub } from 'hubline';
import { sqliteTransport } from 'hubline/sqlite';
import { createShop } from './shop.js';
import type { Traffic } from './simulate.js';
import { startTraffic } from './traffic.js';

/** Shop with a dashboard. */
export interface RunningShop {
  /** Hub that the dashboard shows. */
  readonly hub: Hub;
  start(): Promise<void>;
  stop(): Promise<void>;
}

const drainMs = 1_000;

/**
 * Creates a shop that runs in this process.
 *
 * @param rate orders per second
 * @param file file that keeps its events. @default in memory
 */
export function shopInThisProcess(rate: number, file?: string): RunningShop {
  const hub = createShop(file === undefined ? undefined : sqliteTransport({ file }));
  let traffic: Traffic | undefined;
  return {
    hub,
    async start() {
      await hub.start();
      traffic = startTraffic(hub, rate, (error) => console.error(error));
    },
    async stop() {
      traffic?.stop();
      await hub.stop({ drainMs });
    },
  };
}
