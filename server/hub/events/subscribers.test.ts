import { expect, it } from 'vitest';
import { InvalidOptionError } from '../../errors.js';
import { testHub } from '../hub.fixture.js';
import { createWorkflow } from '../runs/workflow.js';
import { createEvent } from './event.js';

it('an event is kept for a subscriber that has not started yet', async () => {
  const web = testHub({ service: 'web' });
  web.hub.event({ type: 'ordered', subscribers: ['mailer'] });
  await web.hub.start();
  await web.hub.emit('ordered', { id: 1 });
  await web.hub.emitMany('ordered', [{ id: 2 }]);
  expect(await web.hub.metrics('ordered')).toMatchObject({ received: 2, completed: 0, pending: 2 });
  expect(web.log).toEqual([]);
  const { hub: mailer } = testHub({ service: 'mailer', transport: web.transport });
  const mailed: unknown[] = [];
  mailer.event({ type: 'ordered', handler: ({ payload }) => mailed.push(payload) });
  await mailer.start();
  await web.clock.settle();
  expect(mailed).toEqual([{ id: 1 }, { id: 2 }]);
  expect(await web.hub.metrics('ordered')).toMatchObject({ received: 2, completed: 2, pending: 0 });
});

it('an event is kept for a subscriber of which a workflow alone receives it', async () => {
  const web = testHub({ service: 'web' });
  web.hub.event({ type: 'ordered', subscribers: ['shop'] });
  await web.hub.start();
  await web.hub.emit('ordered', { id: 1 });
  const { hub: shop } = testHub({ service: 'shop', transport: web.transport });
  shop.event({ type: 'ordered' });
  const fulfilled: unknown[] = [];
  shop.workflow(createWorkflow({ name: 'fulfil', trigger: 'ordered', run: ({ input }) => fulfilled.push(input) }));
  await shop.start();
  await web.hub.emit('ordered', { id: 2 });
  await web.clock.settle();
  expect(fulfilled).toEqual([{ id: 1 }, { id: 2 }]);
  expect(await web.hub.metrics('ordered')).toMatchObject({ received: 2, completed: 2, pending: 0 });
  expect(web.log).toEqual([]);
});

it('emitting a type without subscribers logs one warning per type', async () => {
  const { hub, log } = testHub();
  hub.event({ type: 'ordered' });
  hub.event({ type: 'shipped' });
  await hub.start();
  const receipt = await hub.emit('ordered', 1);
  await hub.emit('ordered', 1);
  await hub.emitMany('ordered', [1, 2]);
  await hub.emit('shipped', 1);
  const warnings = log.filter(({ level }) => level === 'warn');
  expect(warnings.map(({ fields }) => fields['eventType'])).toEqual(['ordered', 'shipped']);
  expect(warnings[0]?.message).toContain('no service subscribes to the event type');
  expect(warnings[0]?.fields).toMatchObject({ eventId: receipt.id, requestId: receipt.id });
});

it('emitting an event that only a run waits for logs no warning', async () => {
  const { hub, log, clock } = testHub();
  const paid = hub.event<{ id: string }>({ type: 'paid', key: ({ id }) => id });
  const fulfil = createWorkflow({
    name: 'fulfil',
    run: ({ step }) => step.waitForEvent('payment', paid, { key: 'o-1' }),
  });
  hub.workflow(fulfil);
  await hub.start();
  const run = await hub.startWorkflow(fulfil, {});
  await clock.settle();
  await hub.emit(paid, { id: 'o-1' });
  expect(await run.result()).toEqual({ id: 'o-1' });
  expect(log.filter(({ level }) => level === 'warn')).toEqual([]);
  const [, unheard] = await hub.emitMany(paid, [{ id: 'o-2' }, { id: 'o-3' }]);
  expect(unheard).toMatchObject({ unsubscribed: true });
  expect(log.filter(({ level }) => level === 'warn')).toHaveLength(1);
});

it.each([['mailer'], [['a', '']], [[1]], [Array(101).fill('a')]])('refuses the subscribers %j', (subscribers) => {
  const { hub } = testHub();
  expect(() => hub.event({ type: 'a', subscribers: subscribers as never })).toThrow(InvalidOptionError);
});

it('the registration of a shared definition may name subscribers', async () => {
  const ordered = createEvent<{ id: number }>({ type: 'ordered' });
  const { hub } = testHub({ service: 'web' });
  hub.event(ordered, { subscribers: ['mailer'] });
  await hub.start();
  await hub.emit(ordered, { id: 1 });
  expect(await hub.metrics('ordered')).toMatchObject({ received: 1, completed: 0, pending: 1 });
});
