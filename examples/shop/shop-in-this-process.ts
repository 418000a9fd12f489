import type { Hub } from 'hubline';
import { sqliteTransport } from 'hubline/sqlite';
import { connectCourier } from './courier/courier.js';
import type { CourierServer } from './courier/courier-server.js';
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
export async function shopInThisProcess(
  rate: number,
  server: CourierServer | undefined,
  file?: string,
): Promise<RunningShop> {
  const courier = server && (await connectCourier(server));
  const transport = file === undefined ? undefined : sqliteTransport({ file });
  const hub = createShop({ ...(courier && { courierTools: courier.tools }), ...(transport && { transport }) });
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
      await courier?.close();
    },
  };
}
