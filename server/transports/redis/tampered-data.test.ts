import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createHub } from '../../hub/create-hub.js';
import type { Hub } from '../../hub/hub.js';
import { createWorkflow } from '../../hub/runs/workflow.js';
import { envelope } from '../contract/envelope.js';
import { workflowType } from '../delivery.js';
import { silentLogger } from '../transport.js';
import { redisTransport } from './redis-transport.js';
import { startTestRedis } from './test-redis.fixture.js';

const { server, admin } = await startTestRedis();

function setUp() {
  const prefix = randomUUID();
  const ran: unknown[] = [];
  const create = (): Hub => {
    const transport = redisTransport({ url: server.url, prefix, stalledIntervalMs: 200, emitTimeoutMs: 60_000 });
    // A changed job that took a slot for ever would end the process's work.
    const hub = createHub({ service: 'shop', transport, concurrency: 1 });
    hub.event({ type: 'ordered', handler: ({ payload }) => ran.push(payload), onFailure: 'refused' });
    hub.event({ type: 'refused', handler: ({ payload }) => ran.push(payload) });
    hub.workflow(
      createWorkflow({ name: 'ship', steps: [{ name: 'pack', handler: ({ payload }) => ran.push(payload) }] }),
    );
    onTestFinished(async () => {
      await hub.stop({ drainMs: 0 });
    });
    return hub;
  };
  /** Emits an event and starts a workflow of the service, in a process that handles nothing. */
  const produce = async (): Promise<void> => {
    const manager = redisTransport({ url: server.url, prefix, emitTimeoutMs: 60_000 }).connect({
      service: 'shop',
      logger: silentLogger,
    });
    await manager.publish(['ordered', workflowType('ship')].map((type) => envelope(type, { body: '{"total":1}' })));
    await manager.close({ drainMs: 0 });
  };
  /** Replaces the data of all waiting jobs and runs. */
  const tamper = async (data: string, other: Readonly<Record<string, string>> = {}): Promise<void> => {
    let changed = 0;
    for (const key of await admin.keys(`*${prefix}*`)) {
      if ((await admin.type(key)) !== 'hash' || (await admin.hexists(key, 'data')) === 0) continue;
      await admin.hset(key, { data, ...other });
      changed += 1;
    }
    expect(changed).toBeGreaterThan(0);
  };
  return { ran, create, produce, tamper };
}

it.each([
  ['carries no event', '{"requestId":7}', 'ERR_UNEXPECTED_DATA', 'UnexpectedDataError'],
  ['carries no JSON', 'not JSON', 'ERR_UNEXPECTED_DATA', 'UnexpectedDataError'],
  ['carries nothing', '', 'ERR_UNEXPECTED_DATA', 'UnexpectedDataError'],
  [
    'has a payload that is not JSON',
    '{"requestId":"r","body":"{","delayMs":0,"priority":0,"depth":0,"replays":0}',
    'ERR_STORED_PAYLOAD',
    'StoredPayloadError',
  ],
])('a job that %s fails once, with a typed error, and hides nothing', async (_, data, code, name) => {
  const { ran, create, produce, tamper } = setUp();
  const first = create();
  await first.start();
  await first.stop();
  // They wait until the service runs again.
  await produce();
  await tamper(data, { opts: '{', progress: '{', parent: '{', stacktrace: '{', returnvalue: '{', rjk: 'x' });
  const hub = create();
  await hub.start();
  await vi.waitFor(async () => expect(await hub.metrics('ordered')).toMatchObject({ failed: 1, pending: 0 }), 20_000);
  await vi.waitFor(
    () => expect(ran).toMatchObject([{ error: { code }, event: { type: 'ordered' }, payload: null }]),
    20_000,
  );
  await vi.waitFor(
    async () => expect((await hub.introspect()).workflows).toMatchObject([{ runs: [{ error: { name } }] }]),
    20_000,
  );
  expect(await hub.failures('ordered')).toMatchObject([{ name, attempt: 1 }]);
  expect(await hub.deadLetters('ordered')).toHaveLength(1);
});

it.each([
  ['not JSON', '{'],
  ['of types that no store can hold', JSON.stringify({ service: 'x', events: [{ type: '\ud800', kind: 'handler' }] })],
  ['of another shape', '[1,{"events":7}]'],
])('a description that is %s does not stop the introspection', async (_, text) => {
  const { create } = setUp();
  const hub = create();
  await hub.start();
  let reads = 1;
  const { lookup } = hub.transport;
  const overview = lookup.overview.bind(lookup);
  // Each read of Redis returns another description, as if a stranger wrote them.
  vi.spyOn(lookup, 'overview').mockImplementation(async (query) => {
    const found = await overview(query);
    return { ...found, registered: [...found.registered, `${text} `.padEnd(text.length + reads++)] };
  });
  const { events } = await hub.introspect();
  expect(events.map(({ type }) => type)).toEqual(['ordered', 'refused']);
});

it('a description that names new types at every read ends the introspection after three reads', async () => {
  const { create } = setUp();
  const hub = create();
  await hub.start();
  const { lookup } = hub.transport;
  const overview = lookup.overview.bind(lookup);
  const read = vi.spyOn(lookup, 'overview').mockImplementation(async (query) => {
    const found = await overview(query);
    const stranger = { service: 'x', events: [{ type: randomUUID(), kind: 'handler' }] };
    return { ...found, registered: [...found.registered, JSON.stringify(stranger)] };
  });
  expect((await hub.introspect()).events.map(({ type }) => type)).toEqual(['ordered', 'refused']);
  expect(read).toHaveBeenCalledTimes(3);
});
