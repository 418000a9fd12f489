import type { Hub } from 'hubline';
import { onTestFinished } from 'vitest';

/** Starts an example's hub. The end of the test stops it. */
export async function startHub(hub: Hub): Promise<Hub> {
  onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
  await hub.start();
  return hub;
}
