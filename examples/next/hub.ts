import { createHub, type Hub } from 'hubline';

// Next bundles this file into each route. Only the process is shared.
const shared: typeof globalThis & { hub?: Hub } = globalThis;

/** Returns the only hub of the process. */
export function getHub(): Hub {
  shared.hub ??= createShop();
  return shared.hub;
}

/** Starts the hub, and stops it on SIGTERM. */
export async function startHub(): Promise<void> {
  const hub = getHub();
  await hub.start();
  process.once('SIGTERM', () => hub.stop().then(() => process.exit(0)));
}

function createShop(): Hub {
  const hub = createHub();
  hub.event<{ item: string }>({
    type: 'order.created',
    handler: ({ payload }) => console.log(`Packing a ${payload.item}`),
  });
  return hub;
}
