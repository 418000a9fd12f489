import Emittery from 'emittery';
import { ServiceBroker } from 'moleculer';
import { createHub } from '../dist/index.js';
import { type Contender, type Figure, measure } from './measure.js';

interface Order {
  readonly id: number;
  readonly customer: string;
  readonly items: readonly { readonly sku: string; readonly quantity: number }[];
}

const order = (id: number): Order => ({ id, customer: 'ada', items: [{ sku: 'tea', quantity: 2 }] });
const emitted = 100_000;
// All contenders are driven alike: so many at once, then the next.
const batch = 100;

/** One event to one async handler, in process: from `emit` to the handler's end. */
export async function dispatch(): Promise<Figure[]> {
  let sum = 0;
  const handle = async ({ id }: Order): Promise<void> => {
    sum += id;
  };
  const contenders: Contender[] = [
    { name: 'bare awaited call', run: (events) => inBatches(events, (id) => handle(order(id))) },
    emittery(handle),
    await moleculer(handle),
    await hubline(handle),
  ];
  const figures = await measure(contenders, emitted);
  if (sum === 0) throw new Error('no handler ran');
  return figures;
}

function emittery(handle: (order: Order) => Promise<void>): Contender {
  const emitter = new Emittery<{ 'order.created': Order }>();
  emitter.on('order.created', (event) => handle('data' in event ? event.data : event));
  return {
    name: 'emittery emit',
    run: (events) => inBatches(events, (id) => emitter.emit('order.created', order(id))),
  };
}

async function moleculer(handle: (order: Order) => Promise<void>): Promise<Contender> {
  // Its counters on, as Hubline's always are.
  const broker = new ServiceBroker({ logger: false, metrics: true });
  broker.createService({ name: 'shop', events: { 'order.created': (ctx: { params: Order }) => handle(ctx.params) } });
  await broker.start();
  return {
    name: 'moleculer emit',
    run: (events) => inBatches(events, (id) => broker.emit('order.created', order(id))),
  };
}

async function hubline(handle: (order: Order) => Promise<void>): Promise<Contender> {
  const hub = createHub();
  const handled = countdown();
  const created = hub.event<Order>({
    type: 'order.created',
    handler: async ({ payload }) => {
      await handle(payload);
      handled.count();
    },
  });
  await hub.start();
  // The peers' emit resolves when the handler is done, Hubline's when the event is accepted.
  const emitBatch = async (from: number): Promise<void> => {
    const done = handled.of(batch);
    for (let id = from; id < from + batch; id += 1) void hub.emit(created, order(id));
    await done;
  };
  return {
    name: 'hubline emit',
    async run(events) {
      for (let id = 0; id < events; id += batch) await emitBatch(id);
    },
  };
}

function countdown(): { of(count: number): Promise<void>; count(): void } {
  let left = 0;
  let finish = (): void => {};
  return {
    of: (count) =>
      new Promise((resolve) => {
        left = count;
        finish = resolve;
      }),
    count() {
      left -= 1;
      if (left === 0) finish();
    },
  };
}

async function inBatches(events: number, emit: (id: number) => Promise<unknown>): Promise<void> {
  for (let id = 0; id < events; id += batch) {
    await Promise.all(Array.from({ length: batch }, (_, index) => emit(id + index)));
  }
}
