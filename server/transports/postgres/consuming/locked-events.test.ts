import { expect, it, onTestFinished } from 'vitest';
import { envelope } from '../../contract/envelope.js';
import type { Subscription } from '../../delivery.js';
import { startTestPostgres } from '../postgres-stage.fixture.js';

const { admin, harness } = await startTestPostgres();

const limits = {
  'without limits': {},
  'with a concurrency': { concurrency: 10 },
  'with keys': { perKey: { concurrency: 1 } },
} satisfies Readonly<Record<string, Omit<Subscription, 'type'>>>;

it.each(Object.entries(limits))(
  'an event %s that a transaction holds is taken when it is free',
  async (_, settings) => {
    // No poll finds it.
    const { connect } = await harness({ pollIntervalMs: 600_000, lockDurationMs: 600_000 });
    const subscriptions = [{ type: 'order', ...settings }];
    const start = async (): Promise<string[]> => {
      const taken: string[] = [];
      const shop = connect('shop');
      onTestFinished(async () => void (await shop.close({ drainMs: 0 })));
      await shop.start({
        subscriptions,
        concurrency: 10,
        onDelivery: (delivery) => {
          taken.push(delivery.envelope.id);
          void Promise.resolve(delivery.commit({ status: 'completed', durationMs: 1, followUps: [], result: 'null' }));
        },
      });
      return taken;
    };
    const earlier = connect('shop');
    await earlier.start({ subscriptions, concurrency: 10, onDelivery: () => {} });
    await earlier.close({ drainMs: 0 });
    const held = envelope('order', { key: 'a' });
    await connect('web').publish([held]);
    const holder = await admin.connect();
    onTestFinished(() => holder.release());
    await holder.query('BEGIN');
    await holder.query('SELECT FROM hubline.events WHERE id = $1 FOR UPDATE', [held.id]);
    // It has looked for events when it has started.
    const taken = await start();
    expect(taken).toEqual([]);
    await holder.query('ROLLBACK');
    await expect.poll(() => taken).toEqual([held.id]);
  },
);

it('a run ends while another transaction drops an older one', async () => {
  const { connect } = await harness();
  const shop = connect('shop');
  onTestFinished(async () => void (await shop.close({ drainMs: 0 })));
  const ends: Promise<unknown>[] = [];
  await shop.start({
    subscriptions: [{ type: 'run', retainsRuns: true, retain: { completed: 1, failed: 1 } }],
    concurrency: 10,
    onDelivery: (delivery) => {
      const outcome = { status: 'completed', durationMs: 1, followUps: [], result: 'null' } as const;
      ends.push(Promise.resolve(delivery.commit(outcome)));
    },
  });
  await shop.publish([envelope('run')]);
  await expect.poll(() => ends.length).toBe(1);
  expect(await ends[0]).toBe('ok');
  const holder = await admin.connect();
  onTestFinished(() => holder.release());
  await holder.query('BEGIN');
  await holder.query('SELECT FROM hubline.ended FOR UPDATE');
  await shop.publish([envelope('run')]);
  await expect.poll(() => ends.length).toBe(2);
  expect(await ends[1]).toBe('ok');
  await holder.query('ROLLBACK');
});
