import { createHub, createWorkflow, type HubOptions, type RunCtx } from 'hubline';
import { postgresTransport } from 'hubline/postgres';
import { redisTransport } from 'hubline/redis';
import { sqliteTransport } from 'hubline/sqlite';

/** Leaves a dead letter of a payment, and a run that waits. */
async function seed(transport: NonNullable<HubOptions['transport']>): Promise<void> {
  const hub = createHub({ service: 'shop', transport, logger: false });
  hub.event({
    type: 'payment.requested',
    handler() {
      throw new Error('the bank is closed');
    },
  });
  const shipping = hub.workflow(
    createWorkflow({ name: 'shipping', run: ({ step }: RunCtx<object>) => step.sleep('cooling-off', 86_400_000) }),
  );
  await hub.start();
  await hub.emit('payment.requested', {}, { requestId: 'checkout-17' });
  await hub.startWorkflow(shipping, {});
  while ((await hub.metrics('payment.requested')).failed === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  await hub.stop();
}

const { REDIS_URL: url, DATABASE_URL: connectionString } = process.env;
if (url === undefined || connectionString === undefined) throw new Error('the URLs of Redis and Postgres are missing');
await seed(sqliteTransport({ file: 'hub.db' }));
await seed(redisTransport({ url }));
await seed(postgresTransport({ connectionString }));
console.log('seeded');
