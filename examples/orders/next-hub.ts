import { createHub, type Hub } from 'hubline';
import { redisTransport } from 'hubline/redis';

// Next bundles this file into each route. Only the process is shared.
const shared: typeof globalThis & { hub?: Promise<Hub> } = globalThis;

/** Returns the only hub of the process, started. */
export function getHub(): Promise<Hub> {
  shared.hub ??= startHub();
  return shared.hub;
}

async function startHub(): Promise<Hub> {
  const { REDIS_URL: url = 'redis://127.0.0.1:6379' } = process.env;
  const hub = createHub({ service: 'web', transport: redisTransport({ url }) });
  await hub.start();
  return hub;
}
