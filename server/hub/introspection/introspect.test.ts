import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readColumnsBody, readIntrospectionBody } from '../../dashboard/routes/read-bodies.js';
import { workflowType } from '../../transports/delivery.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { silentLogger } from '../../transports/transport.js';
import { UnknownEventError } from '../errors.js';
import { withHandlerInfo } from '../events/reported-agents.js';
import { testHub } from '../hub.fixture.js';
import { createWorkflow } from '../runs/workflow.js';
import { Invocations } from './invocations.js';

describe('introspection', () => {
  it('returns registrations with their counts, without handlers and payloads', async () => {
    const { hub, clock } = testHub({ service: 'shop', release: 'v1' });
    hub.event({
      type: 'order.created',
      description: 'An order came in',
      schema: z.object({ id: z.string() }),
      retry: { maxAttempts: 2, retryIf: () => true },
      timeoutMs: 1_000,
      concurrency: 4,
      rate: { max: 10, perMs: 1_000 },
      onSuccess: 'order.noted',
      handler: () => {},
    });
    hub.event({ type: 'order.noted' });
    expect((await hub.introspect()).hub.startedAt).toBeNull();
    await hub.start();
    await hub.emit('order.created', { id: 'o-1' });
    await clock.settle();
    expect(await hub.introspect()).toEqual({
      hub: {
        service: 'shop',
        transport: 'memory',
        version: expect.any(String),
        startedAt: clock.now(),
        now: clock.now(),
        processes: 1,
        retainsDeadLetters: true,
      },
      totals: {
        metrics: expect.objectContaining({ received: 2, completed: 2 }),
        recent: expect.objectContaining({ last5Min: expect.objectContaining({ received: 2, completed: 2 }) }),
        histories: expect.any(Object),
      },
      events: [
        {
          type: 'order.created',
          kind: 'handler',
          description: 'An order came in',
          retry: { maxAttempts: 2, initialDelayMs: 500, maxDelayMs: 30_000, factor: 2, jitter: true },
          timeoutMs: 1_000,
          concurrency: 4,
          rate: { max: 10, perMs: 1_000 },
          onSuccess: 'order.noted',
          recordsInput: true,
          schema: expect.objectContaining({ type: 'object', required: ['id'] }),
          processes: 1,
          metrics: {
            received: 1,
            completed: 1,
            failed: 0,
            filtered: 0,
            cancelled: 0,
            delayed: 0,
            pending: 0,
            active: 0,
            retried: 0,
            suspended: 0,
            deduplicated: 0,
            deadLetters: 0,
            lastReceivedAt: clock.now(),
          },
          recent: expect.objectContaining({ last5Min: expect.objectContaining({ received: 1, completed: 1 }) }),
        },
        {
          type: 'order.noted',
          kind: 'declared',
          recordsInput: true,
          processes: 0,
          metrics: expect.objectContaining({ received: 1, completed: 1 }),
          recent: expect.objectContaining({ last5Min: expect.objectContaining({ received: 1, completed: 1 }) }),
        },
      ],
      workflows: [],
      agents: [],
      schedules: [],
      releases: [{ service: 'shop', release: 'v1', startedAt: clock.now() }],
      lost: [],
      pauses: [],
    });
  });

  it('returns counts per service if there are several', async () => {
    const { hub, clock, transport } = testHub({ service: 'shop' });
    const mail = testHub({ service: 'mail', transport });
    hub.event({ type: 'a', handler: () => {} });
    mail.hub.event({ type: 'a', handler: () => Promise.reject(new Error('no')) });
    await hub.start();
    await mail.hub.start();
    await hub.emit('a', 1);
    await clock.settle();
    const [event] = (await hub.introspect()).events;
    expect(event?.metrics).toMatchObject({ received: 2, completed: 1, failed: 1, pending: 0 });
    expect(event?.services).toMatchObject([
      { service: 'shop', metrics: { completed: 1 } },
      { service: 'mail', metrics: { failed: 1 } },
    ]);
  });

  it('lists a service that has pending events and no running hub', async () => {
    const { hub, transport } = testHub({ service: 'shop' });
    const mail = testHub({ service: 'mail', transport });
    hub.event({ type: 'a' });
    mail.hub.event({ type: 'a', handler: () => {} });
    await mail.hub.start();
    await hub.start();
    await hub.emit('a', 1, { delayMs: 60_000 });
    expect((await hub.introspect()).events[0]).not.toHaveProperty('services');
    await mail.hub.stop({ drainMs: 0 });
    expect((await hub.introspect()).events[0]?.services).toMatchObject([
      { service: 'mail', processes: 0, metrics: { pending: 1 } },
    ]);
  });

  it('has a revision that differs per hub and changes with the counts', async () => {
    const { hub, clock, transport } = testHub();
    const other = testHub({ transport, service: 'other' });
    hub.event({ type: 'a' });
    await hub.start();
    const before = await hub.revision();
    expect(await hub.revision()).toBe(before);
    expect(await other.hub.revision()).not.toBe(before);
    await hub.emit('a', 1);
    expect(await hub.revision()).not.toBe(before);
    const ofType = await hub.revision('a');
    await clock.advance(60_000);
    expect(await hub.revision('a')).not.toBe(ofType);
    await expect(hub.revision('b')).rejects.toThrow(UnknownEventError);
    await expect(hub.metrics('b')).rejects.toThrow(UnknownEventError);
    await expect(hub.failures('b')).rejects.toThrow(UnknownEventError);
  });
});

it('changes its revision when a process is lost, and lists it', async () => {
  const { hub, clock } = testHub({ service: 'shop' });
  hub.event({ type: 'a', handler: () => {} });
  await hub.start();
  const before = await hub.revision();
  const { kv } = hub.transport;
  const gone = { id: 'gone', service: 'shop', host: 'h', pid: 1, startedAt: 0, active: 2 };
  const list = JSON.stringify({ processes: [{ ...gone, seenAt: clock.now() - 20_000 }] });
  await kv.set('hubline:processes', list);
  await clock.advance(10_000);
  expect(await hub.revision()).not.toBe(before);
  expect((await hub.introspect()).lost).toMatchObject([{ id: 'gone', active: 2 }]);
  expect((await hub.health()).problems).toMatchObject([{ kind: 'lost-process', service: 'shop', count: 1 }]);
  expect((await hub.health({ service: 'shop' })).problems).toHaveLength(1);
});

it('changes its revision when an agent runs outside of events', async () => {
  const { hub } = testHub();
  const runs = { completed: 0 };
  const agent = { name: 'bot', model: 'm', tools: [], delegates: [], runs };
  const tokenUsage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 };
  hub.event({
    type: 'a',
    handler: withHandlerInfo(() => {}, { kind: 'agent', name: 'bot', agents: () => [{ ...agent, tokenUsage }] }),
  });
  await hub.start();
  expect((await hub.introspect()).agents).toMatchObject([{ name: 'bot', runs: { completed: 0 } }]);
  const before = await hub.revision();
  runs.completed += 1;
  expect(await hub.revision()).not.toBe(before);
});

it('changes its revision when one workflow has invoked another, once', async () => {
  const connection = { service: 'shop', logger: silentLogger };
  const transport = memoryTransport().connect(connection);
  const invocations = new Invocations({ transport, ...connection });
  invocations.note(workflowType('parent'), 'child');
  await invocations.flush();
  expect(invocations.revision).toBe(1);
  invocations.note(workflowType('parent'), 'child');
  await invocations.flush();
  expect(invocations.revision).toBe(1);
});

it('redacts failures that a process without redaction recorded, wherever they are read', async () => {
  const { hub, transport, clock } = testHub({ service: 'shop' });
  const fail = (): never => {
    throw new Error('card 4711 declined');
  };
  const flow = createWorkflow({ name: 'refund', run: ({ step }) => step.run('pay', fail) });
  hub.event({ type: 'ordered', handler: fail, retry: { maxAttempts: 2, initialDelayMs: 0 } });
  hub.workflow(flow);
  await hub.start();
  const { id } = await hub.emit('ordered', null, { requestId: 'request 7' });
  const run = await hub.startWorkflow(flow, null, { requestId: 'request 7' });
  await clock.advance(1_000);
  const redact = ({ name, message }: { name: string; message: string }) => ({
    name,
    message: message.replaceAll(/\d+/g, '[card]'),
  });
  const reader = testHub({ service: 'shop', transport, redact }).hub;
  reader.event({ type: 'ordered' });
  reader.workflow(flow);
  await reader.start();
  const read = [
    await reader.introspect(),
    await reader.health(),
    await reader.failures('ordered'),
    await reader.deadLetters('ordered'),
    await reader.find(id),
    await reader.find(run.runId),
    await reader.getRequest('request 7'),
    await reader.getRecent('ordered'),
    await reader.getRecent(flow),
    await reader.getRun(flow, run.runId),
    await readIntrospectionBody(reader),
    await readColumnsBody(reader),
  ].map((each) => JSON.stringify(each));
  for (const each of read) expect([each.includes('[card]'), each.includes('4711'), each]).toEqual([true, false, each]);
  expect(JSON.stringify(await hub.introspect())).toContain('4711');
});

it('has the problems of health() in the body that the page shows', async () => {
  const { hub, transport, clock } = testHub({ service: 'shop' });
  hub.event({
    type: 'ordered',
    handler: () => {
      throw new Error('no');
    },
  });
  await hub.start();
  const other = testHub({ service: 'mail', transport }).hub;
  const flow = createWorkflow({ name: 'report', run: async () => null });
  other.workflow(flow);
  other.schedule({ name: 'nightly', cron: '0 3 * * *', start: flow, payload: null });
  await other.start();
  await hub.emit('ordered', null);
  await clock.advance(24 * 3_600_000);
  await hub.emit('ordered', null);
  await clock.settle();
  await other.stop();
  const health = await other.health();
  expect(health.problems.map(({ kind }) => kind)).toEqual(['failing', 'overdue-schedule']);
  expect((await readIntrospectionBody(other)).health).toEqual(health);
  expect((await readColumnsBody(other)).health).toEqual(health);
});
