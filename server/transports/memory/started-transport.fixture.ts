import { createFakeClock, type FakeClock } from '../../testing/fake-clock.js';
import type { Delivery } from '../delivery.js';
import { silentLogger, type TransportManager } from '../transport.js';
import { type MemoryTransportOptions, memoryTransport } from './memory-transport.js';

/** Connection that handles event types, with its deliveries. */
export interface StartedTransport {
  readonly clock: FakeClock;
  readonly transport: TransportManager;
  readonly deliveries: Delivery[];
}

/** Connects to a new transport with a fake clock, and subscribes to the types. */
export async function started(options: MemoryTransportOptions, types: readonly string[]): Promise<StartedTransport> {
  const clock = createFakeClock();
  const transport = memoryTransport({ clock, ...options }).connect({ service: 'shop', logger: silentLogger });
  const deliveries: Delivery[] = [];
  await transport.start({
    concurrency: 100,
    subscriptions: types.map((type) => ({ type })),
    onDelivery: (delivery) => deliveries.push(delivery),
  });
  return { clock, transport, deliveries };
}
