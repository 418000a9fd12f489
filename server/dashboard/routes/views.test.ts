import { expect, it, onTestFinished, vi } from 'vitest';
import { createHub } from '../../hub/create-hub.js';
import type { Hub } from '../../hub/hub.js';
import { createWorkflow } from '../../hub/runs/workflow.js';
import { createFakeClock } from '../../testing/fake-clock.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import type { AgentRunsBody, ProcessesBody, SchedulesBody, TaggedBody, WaitsBody } from '../protocol.js';
import { createRouter } from './router.js';

async function get<TBody>(hub: Hub, query: string): Promise<{ readonly status: number; readonly body: TBody }> {
  const onFailure = (error: unknown): never => {
    throw error;
  };
  const route = createRouter(hub, { basePath: '', onFailure });
  const targets = [`/api/introspection?${query}`];
  const { status, body } = await route({ method: 'GET', targets, acceptEncoding: undefined, ifNoneMatch: undefined });
  return { status, body: JSON.parse(String(body)) as TBody };
}

it('serves events by a tag, of types that show their tags alone', async () => {
  const hub = createHub({ logger: false });
  onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
  const tags = ({ region }: { region: string }): string[] => [`region:${region}`];
  hub.event({ type: 'order.shown', tags, showTags: true, handler: () => {} });
  hub.event({ type: 'order.hidden', tags, handler: () => {} });
  hub.workflow(createWorkflow({ name: 'ship', trigger: 'order.shown', run: async () => null }));
  hub.workflow(createWorkflow({ name: 'bill', trigger: 'order.hidden', run: async () => null }));
  await hub.start();
  for (const type of ['order.shown', 'order.hidden']) await hub.emit(type, { region: 'eu' });
  const tagged = () => get<TaggedBody>(hub, 'tag=region%3Aeu');
  await vi.waitFor(async () =>
    expect((await tagged()).body.events.map(({ type, status }) => [type, status])).toEqual([
      ['order.shown', 'completed'],
      ['ship', 'completed'],
    ]),
  );
  expect(await tagged()).toMatchObject({ status: 200, body: { tag: 'region:eu', isTruncated: false } });
  expect(await get(hub, `tag=${'x'.repeat(65)}`)).toMatchObject({ status: 200, body: { events: [] } });
  expect(await get(hub, '')).toMatchObject({ body: { showsTags: true } });
});

it('serves waits, processes and the runs of an agent', async () => {
  const transport = memoryTransport();
  const start = async (service: string, register: (hub: Hub) => void): Promise<Hub> => {
    const hub = createHub({ service, transport, concurrency: 7 });
    register(hub);
    await hub.start();
    onTestFinished(async () => {
      await hub.stop({ drainMs: 0 });
    });
    return hub;
  };
  let release = (): void => {};
  const register = (hub: Hub): void => {
    hub.event({ type: 'packed', handler: () => new Promise<void>((resolve) => (release = resolve)) });
    hub.event({ type: 'declared' });
    hub.workflow(
      createWorkflow({ name: 'ship', run: ({ step }) => step.waitForEvent('scan', 'declared', { key: 'parcel 7' }) }),
    );
  };
  const shop = await start('shop', register);
  await start('shop', register);
  await start('mail', () => {});
  const run = await shop.startWorkflow('ship', 'private');
  await shop.emit('packed', {});
  await vi.waitFor(async () => expect(await shop.metrics('packed')).toMatchObject({ active: 1 }));
  await vi.waitFor(async () => expect((await shop.waits()).suspended).toBe(1));

  const waits = await get<WaitsBody>(shop, 'view=waits');
  expect(waits).toMatchObject({
    status: 200,
    body: {
      protocol: 2,
      now: expect.any(Number),
      suspended: 1,
      approvals: 0,
      isTruncated: false,
      waits: [{ id: run.runId, type: 'ship', step: { name: 'scan', waitsFor: { event: { type: 'declared' } } } }],
    },
  });
  expect(JSON.stringify(waits)).not.toContain('private');
  // The keys of waits are data, and those of approvals let their holders decide.
  expect(JSON.stringify(await shop.waits())).toContain('parcel 7');
  const { requestId } = (await shop.find(run.runId))[0] ?? {};
  for (const query of ['', 'events=columns', 'view=waits', `id=${run.runId}`, `request=${requestId}`]) {
    const shown = await get<object>(shop, query);
    expect(shown.status).toBe(200);
    expect(JSON.stringify(shown), query).not.toContain('parcel 7');
  }

  const { body } = await get<ProcessesBody>(shop, 'view=processes');
  expect(body).toMatchObject({ protocol: 2, processCount: 3 });
  expect(body.processes.map(({ service, handles }) => [service, handles])).toEqual([
    ['mail', 0],
    ['shop', 1],
    ['shop', 1],
  ]);
  expect(body.processes.map(({ active }) => active).sort()).toEqual([0, 0, 1]);
  expect(body.processes[0]).toMatchObject({
    id: expect.any(String),
    host: expect.any(String),
    pid: process.pid,
    slots: 7,
    heapBytes: expect.any(Number),
  });
  expect(body.registrations).toEqual([
    { events: [], workflows: [] },
    { events: ['packed'], workflows: ['ship'] },
  ]);
  release();

  expect(await get<AgentRunsBody>(shop, 'agent=nobody')).toMatchObject({
    status: 200,
    body: { agent: 'nobody', runs: [] },
  });
  expect(await get(shop, 'view=unknown')).toMatchObject({ status: 404 });
});

it('serves the due times of the next 12 hours, and what came of the last ones', async () => {
  const clock = createFakeClock();
  const hub = createHub({ service: 'shop', transport: memoryTransport({ clock }) });
  hub.event({
    type: 'report.due',
    handler: () => {
      throw new Error('no paper');
    },
  });
  hub.event({ type: 'stock.due', handler: () => {} });
  hub.schedule({ name: 'hourly', cron: '30 * * * *', timeZone: 'UTC', emit: 'report.due', payload: {} });
  hub.schedule({ name: 'often', everyMs: 60_000, emit: 'stock.due', payload: {} });
  hub.schedule({ name: 'never', cron: '0 0 29 2 *', emit: 'stock.due', payload: {} });
  await hub.start();
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  await clock.advance(2 * 3_600_000);
  await clock.settle();
  const { body } = await get<SchedulesBody>(hub, 'view=schedules');
  const [hourly, never, often] = body.schedules;
  expect(hourly).toMatchObject({
    service: 'shop',
    name: 'hourly',
    isDense: false,
    last: { type: 'report.due', status: 'failed', error: { name: 'Error', message: 'no paper' } },
  });
  expect(hourly?.dueAt).toHaveLength(12);
  expect(hourly?.dueAt.every((at) => at > clock.now() && at % 3_600_000 === 1_800_000)).toBe(true);
  expect(often).toMatchObject({ name: 'often', isDense: true, last: { status: 'completed' } });
  expect(often?.dueAt).toHaveLength(48);
  expect(often?.words).toBe('every minute');
  expect(never).toEqual({ service: 'shop', name: 'never', dueAt: [], isDense: false });
});
