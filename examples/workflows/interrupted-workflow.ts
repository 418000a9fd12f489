import { once } from 'node:events';
import { createHub, createWorkflow, type Hub, memoryTransport, type StepCtx } from 'hubline';

// Both hubs share the transport. With redisTransport they can be two processes, and the first can be killed.
const transport = memoryTransport();

function startShop(carrier: (ctx: StepCtx) => unknown): Hub {
  const hub = createHub({ transport });
  hub.event({ type: 'order.shipped', handler: ({ payload }) => console.log(`done: ${JSON.stringify(payload)}`) });
  hub.workflow(
    createWorkflow({
      name: 'fulfil',
      onSuccess: 'order.shipped',
      steps: [
        {
          name: 'pick',
          handler({ payload }) {
            console.log('picked, once');
            return payload;
          },
        },
        { name: 'ship', handler: carrier },
      ],
    }),
  );
  return hub;
}

const calls: string[] = [];
const reached = new EventTarget();
const first = startShop(({ idempotencyKey }) => {
  calls.push(idempotencyKey);
  reached.dispatchEvent(new Event('carrier'));
  return new Promise(() => {}); // The carrier does not answer before the hub stops.
});
await first.start();
const atCarrier = once(reached, 'carrier');
await first.startWorkflow('fulfil', { order: 1 });
await atCarrier;
const { released } = await first.stop({ drainMs: 0 });
console.log(`released: ${released}`);

const second = startShop(({ idempotencyKey, payload }) => {
  calls.push(idempotencyKey);
  return payload;
});
await second.start();
await second.stop();
console.log(`the carrier was called ${calls.length} times with ${new Set(calls).size} key`);
