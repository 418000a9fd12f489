import { createHub, createWorkflow, FatalError } from 'hubline';
import { redisTransport } from 'hubline/redis';
import { fulfil, orderPaid } from './definitions.js';

const { REDIS_URL: url = 'redis://127.0.0.1:6379' } = process.env;

const hub = createHub({ service: 'fulfilment', transport: redisTransport({ url }) });
hub.workflow(
  createWorkflow(fulfil, {
    run: async ({ input, step }) => {
      await step.run('reserve', () => console.log(`reserving ${input.items.join(', ')} for ${input.id}`));
      const paid = await step.waitForEvent('paid', orderPaid, { key: input.id, timeoutMs: 86_400_000 });
      if (paid === null) throw new FatalError('the order was not paid within a day');
      return step.run('ship', () => ({ tracking: `T-${input.id}` }));
    },
  }),
);
await hub.start();
console.log('ready');
process.once('SIGTERM', () => hub.stop({ drainMs: 20_000 }).then(() => process.exit(0)));
