import { expect, it } from 'vitest';
import { z } from 'zod';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { createHub } from '../create-hub.js';
import { testHub } from '../hub.fixture.js';
import { createWorkflow } from '../runs/workflow.js';
import { createEvent } from './event.js';

const orderPlaced = createEvent({
  type: 'order.placed',
  description: 'An order was placed',
  schema: z.object({ id: z.string(), customerId: z.string() }),
  key: ({ customerId }) => customerId,
  dedupeWindowMs: 60_000,
});

it('is shared by a hub that emits and a hub that handles', async () => {
  const { hub: worker, clock, transport } = testHub();
  const web = createHub({ transport });
  const handled: string[] = [];
  worker.event(orderPlaced, { concurrencyPerKey: 1, handler: ({ payload }) => void handled.push(payload.id) });
  expect(web.event(orderPlaced)).toBe(orderPlaced);
  await worker.start();
  await web.start();
  await web.emit(orderPlaced, { id: 'o-1', customerId: 'ada' });
  // Wrong on purpose: what the compiler would not let through.
  await expect(web.emit(orderPlaced, { id: 7 } as never)).rejects.toMatchObject({ code: 'ERR_SCHEMA_VALIDATION' });
  await clock.settle();
  expect(handled).toEqual(['o-1']);
  const [event] = (await worker.introspect()).events;
  expect(event).toMatchObject({ type: 'order.placed', description: 'An order was placed', concurrencyPerKey: 1 });
  await web.stop();
});

it('is one declaration per hub', () => {
  const hub = createHub({ transport: memoryTransport() });
  hub.event(orderPlaced);
  expect(() => hub.event(orderPlaced)).toThrow('event "order.placed" is already registered');
});

it('throws where it is created', () => {
  // Wrong on purpose: what the compiler would not let through.
  expect(() => createEvent({ type: '' })).toThrow('type of hub.event must be');
  expect(() => createEvent({ type: 'a', key: 'id' } as never)).toThrow('key of event "a" must be a function');
  expect(() => createEvent({ type: 'a', schema: { type: 'nonsense' } })).toThrow('schema of event "a" is not valid');
  expect(() => createEvent({ type: 'a', handler: () => {} } as never)).toThrow(
    'option of the definition of event "a" must be one of',
  );
});

it('keeps what it defines: settings do not replace it', () => {
  const { hub } = testHub();
  // Wrong on purpose: what the compiler would not let through.
  expect(() => hub.event(orderPlaced, { type: 'other', handler: () => {} } as never)).toThrow(
    'option of the settings of event "order.placed" must be one of',
  );
});

it('is registered by a trigger, a follow-up or a schedule that refers to it', async () => {
  const { hub, clock } = testHub();
  const [charged, reported, due] = [
    createEvent({ type: 'charged' }),
    createEvent({ type: 'reported' }),
    createEvent({ type: 'due' }),
  ];
  const runs: unknown[] = [];
  const charge = createWorkflow({
    name: 'charge',
    trigger: orderPlaced,
    concurrencyPerKey: 1,
    onSuccess: charged,
    run: ({ input }) => void runs.push(input),
  });
  hub.workflow(charge);
  hub.event({ type: 'counted', onComplete: reported, handler: () => {} });
  hub.schedule({ name: 'hourly', everyMs: 3_600_000, emit: due, payload: 1 });
  await hub.start();
  await hub.emit('order.placed', { id: 'o-1', customerId: 'ada' });
  await expect(hub.emit('order.placed', { id: 7 })).rejects.toMatchObject({ code: 'ERR_SCHEMA_VALIDATION' });
  await hub.emit('counted', null);
  await clock.advance(3_600_000);
  expect(runs).toEqual([{ id: 'o-1', customerId: 'ada' }]);
  const received = Object.fromEntries(
    (await hub.introspect()).events.map(({ type, metrics }) => [type, metrics.received]),
  );
  expect(received).toEqual({ 'order.placed': 1, charged: 1, counted: 1, reported: 1, due: 1 });
});

it('leaves the settings of a hub that registers it', async () => {
  const { hub, clock } = testHub();
  const handled: unknown[] = [];
  hub.workflow(createWorkflow({ name: 'charge', trigger: orderPlaced, run: () => {} }));
  hub.event(orderPlaced, { handler: ({ payload }) => void handled.push(payload.id) });
  await hub.start();
  await hub.emit(orderPlaced, { id: 'o-1', customerId: 'ada' });
  await clock.settle();
  expect(handled).toEqual(['o-1']);
});
