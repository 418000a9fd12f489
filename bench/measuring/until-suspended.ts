import { setTimeout as delay } from 'node:timers/promises';
import type { Hub } from '../../dist/index.js';

/** Waits until exactly `count` runs of the hub's only workflow are suspended. */
export async function untilSuspended(hub: Hub, count: number): Promise<void> {
  for (;;) {
    const [workflow] = (await hub.introspect()).workflows;
    if (workflow?.metrics.suspended === count) return;
    await delay(20);
  }
}
