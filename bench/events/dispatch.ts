import Emittery from 'emittery';
import { ServiceBroker } from 'moleculer';
import { createHub } from '../../dist/index.js';
import { batch, countdown, inBatches } from '../measuring/batches.js';
import { type Contender, compare } from '../measuring/measure.js';
import { withVersion } from '../measuring/peer-version.js';
import type { Row } from '../measuring/row.js';

interface Order {
  readonly id: number;
  readonly customer: string;
  readonly items: readonly { readonly sku: string; readonly quantity: number }[];
}

const order = (id: number): Order => ({ id, customer: 'ada', items: [{ sku: 'tea', quantity: 2 }] });

// A request that emits a few events, and a job that emits many.
const burstSizes = [batch, 1_000] as const;

/** Measures one event to one async handler in memory, from `emit` to the end of the handler. */
export async function dispatch(): Promise<Row[]> {
  let sum = 0;
  const handled = countdown();
  // All contenders have this very handler, so that none pays for another call or promise.
  const handle = async ({ id }: Order): Promise<void> => {
    sum += id;
    handled.count();
  };
  const rows: Row[] = [];
  for (const size of burstSizes) {
    rows.push(
      ...(await compare({
        scenario: `one event to one handler, ${size} at once`,
        unit: 'events/s',
        times: 100_000,
        hubline: await hubline(handle, handled, size),
        peers: [
          { name: 'bare awaited call', run: (events) => inBatches(events, (id) => handle(order(id)), size) },
          emittery(handle, size),
          await moleculer(handle, size),
        ],
      })),
    );
  }
  if (sum === 0) throw new Error('no handler ran');
  return rows;
}

function emittery(handle: (order: Order) => Promise<void>, size: number): Contender {
  const emitter = new Emittery<{ 'order.created': Order }>();
  emitter.on('order.created', (event) => handle('data' in event ? event.data : event));
  return {
    name: withVersion('emittery'),
    run: (events) => inBatches(events, (id) => emitter.emit('order.created', order(id)), size),
  };
}

async function moleculer(handle: (order: Order) => Promise<void>, size: number): Promise<Contender> {
  // With counters, because Hubline always counts.
  const broker = new ServiceBroker({ logger: false, metrics: true });
  broker.createService({ name: 'shop', events: { 'order.created': (ctx: { params: Order }) => handle(ctx.params) } });
  await broker.start();
  return {
    name: withVersion('moleculer'),
    run: (events) => inBatches(events, (id) => broker.emit('order.created', order(id)), size),
    target: { of: 'ratio', limit: 'at least', value: 2 },
  };
}

async function hubline(
  handle: (order: Order) => Promise<void>,
  handled: ReturnType<typeof countdown>,
  size: number,
): Promise<Contender['run']> {
  const hub = createHub();
  const created = hub.event<Order>({ type: 'order.created', handler: ({ payload }) => handle(payload) });
  await hub.start();
  return async (events) => {
    for (let from = 0; from < events; from += size) {
      // emit of the peers resolves when the handler has ended, emit of Hubline when the event is accepted.
      const done = handled.of(size);
      await inBatches(size, (index) => hub.emit(created, order(from + index)), size);
      await done;
    }
  };
}
