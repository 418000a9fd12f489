import type { Redis } from 'ioredis';

/** Returns the server's clock in whole epoch milliseconds. */
export async function serverTime(client: Redis): Promise<number> {
  const [seconds, microseconds] = await client.time();
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}
