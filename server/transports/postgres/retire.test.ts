import { Pool } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { createHub } from '../../hub/create-hub.js';
import type { Hub } from '../../hub/hub.js';
import { createWorkflow } from '../../hub/runs/workflow.js';
import { NotSubscribedError, PendingEventsError, ServiceRunningError } from '../errors.js';
import { startTestPostgres } from './postgres-stage.fixture.js';
import { postgresTransport } from './postgres-transport.js';

const postgres = await startTestPostgres();
const pool = new Pool({ connectionString: postgres.url });
afterAll(() => pool.end());
const transport = postgresTransport({ pool, schema: 'retire' });

async function start(service: string, register: (hub: Hub) => void): Promise<Hub> {
  const hub = createHub({ service, logger: false, transport });
  register(hub);
  await hub.start();
  onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
  return hub;
}

test('a retired service receives nothing, and its events and dead letters are gone', async () => {
  const shop = await start('shop', (hub) => hub.event({ type: 'placed', handler: () => {} }));
  const mail = await start('mail', (hub) => {
    hub.event({
      type: 'placed',
      handler: () => {
        throw new Error('no');
      },
    });
    hub.event({ type: 'later', handler: () => {} });
    hub.workflow(createWorkflow({ name: 'flow', trigger: 'placed', run: ({ step }) => step.sleep('long', 1e9) }));
  });
  await mail.emit('placed', {});
  await mail.emit('later', {}, { delayMs: 1e9 });
  await vi.waitFor(async () => expect(await mail.deadLetters('placed')).toHaveLength(1));
  await expect(transport.retire('mail')).rejects.toThrow(ServiceRunningError);
  await mail.stop();
  const pending = transport.retire('mail');
  await expect(pending).rejects.toThrow(PendingEventsError);
  await expect(pending).rejects.toMatchObject({ pending: 2, deadLetters: 1 });
  expect(await transport.retire('mail', { only: ['later'], discard: true })).toEqual({ events: 1, deadLetters: 0 });
  expect(await transport.retire('mail', { discard: true })).toEqual({ events: 1, deadLetters: 1 });
  const unknown = transport.retire('mail');
  await expect(unknown).rejects.toThrow(NotSubscribedError);
  await expect(unknown).rejects.toThrow('"shop"');
  const { received } = await shop.metrics('placed');
  await shop.emit('placed', {});
  await vi.waitFor(async () =>
    expect(await shop.metrics('placed')).toMatchObject({ received: received + 1, pending: 0, deadLetters: 0 }),
  );
  const back = await start('mail', (hub) => hub.event({ type: 'placed', handler: () => {} }));
  await shop.emit('placed', {});
  await vi.waitFor(async () =>
    expect(await back.metrics('placed')).toMatchObject({ received: received + 3, pending: 0 }),
  );
});
