import type { Hub } from 'hubline';
import { createShop } from './shop.js';
import type { Traffic } from './simulate.js';
import { startTraffic } from './traffic.js';

/** A shop to look at. */
export interface RunningShop {
  /** What the dashboard shows. */
  readonly hub: Hub;
  start(): Promise<void>;
  stop(): Promise<void>;
}

const drainMs = 1_000;

/** @param rate orders a second */
export function shopInThisProcess(rate: number): RunningShop {
  const hub = createShop();
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
