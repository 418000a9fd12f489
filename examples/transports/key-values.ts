import type { Hub } from 'hubline';

/** Returns `true` for the first caller of the day, over all processes that share the hub's transport. */
export async function claimDailyReport(hub: Hub, day: string): Promise<boolean> {
  return hub.transport.kv.set(`my-shop:report:${day}`, 'claimed', { ttlMs: 2 * 86_400_000, ifAbsent: true });
}
