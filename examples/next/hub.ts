import { createHub, type Hub } from 'hubline';

// Next bundles each route apart, with a copy of this file: what they share is the process.
const shared: { hub?: Hub } = globalThis as object;

/** The one hub of the process. */
export function getHub(): Hub {
  shared.hub ??= createShop();
  return shared.hub;
}

/** Starts it, until the process is asked to end. */
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
