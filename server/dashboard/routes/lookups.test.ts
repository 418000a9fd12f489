import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createHub } from '../../hub/create-hub.js';
import type { Hub } from '../../hub/hub.js';
import type { EventBody, EventDetailsBody, RequestBody } from '../protocol.js';
import { startTestHub } from '../test-hub.fixture.js';
import { createRouter } from './router.js';

async function get<TBody>(hub: Hub, path: string): Promise<{ readonly status: number; readonly body: TBody }> {
  const onFailure = (error: unknown): never => {
    throw error;
  };
  const route = createRouter(hub, { basePath: '', onFailure });
  const request = { method: 'GET', targets: [path], acceptEncoding: undefined, ifNoneMatch: undefined };
  const { status, body } = await route(request);
  return { status, body: JSON.parse(String(body)) as TBody };
}

async function startShop(): Promise<{ readonly hub: Hub; readonly id: string }> {
  const hub = createHub();
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  hub.event({ type: 'ordered', handler: ({ emit }) => emit('mailed', { to: 'private' }) });
  hub.event({
    type: 'mailed',
    handler: () => {
      throw new Error('no address');
    },
  });
  await hub.start();
  const { id } = await hub.emit('ordered', 'private', { requestId: 'a b&c' });
  await vi.waitFor(async () => expect(await hub.metrics('mailed')).toMatchObject({ failed: 1 }));
  return { hub, id };
}

it('serve one event by its id, under its type and under any', async () => {
  const { hub, id } = await startShop();
  for (const path of [`/api/events/ordered?id=${id}`, `/api/introspection?id=${id}`]) {
    const { status, body } = await get<EventDetailsBody>(hub, path);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      protocol: 2,
      now: expect.any(Number),
      events: [{ id, type: 'ordered', status: 'completed', requestId: 'a b&c', attempts: [{ attempt: 1 }] }],
    });
    expect(JSON.stringify(body)).not.toContain('private');
  }
});

it('serve a request by its id and by the id of any event of it', async () => {
  const { hub, id } = await startShop();
  for (const requestId of ['a b&c', id]) {
    const { body } = await get<RequestBody>(hub, `/api/introspection?request=${encodeURIComponent(requestId)}`);
    expect(body).toMatchObject({ protocol: 2, requestId: 'a b&c', isTruncated: false });
    expect(body.events.map(({ type, causeId }) => [type, causeId])).toEqual([
      ['ordered', undefined],
      ['mailed', id],
    ]);
    expect(JSON.stringify(body)).not.toContain('private');
  }
});

it('serve why an event does not run, and nothing for one that has ended', async () => {
  const { hub, id } = await startShop();
  await hub.pause({ type: 'mailed' }, { by: 'ada', reason: 'mail is down' });
  const held = await hub.emit('mailed', 'private', { requestId: 'held' });
  const blockers = [{ kind: 'paused', by: 'ada', reason: 'mail is down' }];
  for (const path of [
    `/api/events/mailed?id=${held.id}`,
    `/api/introspection?id=${held.id}`,
    `/api/introspection?request=${held.id}`,
    '/api/introspection?request=held',
  ]) {
    const { body } = await get<EventDetailsBody>(hub, path);
    expect(body.explanation).toMatchObject({ id: held.id, status: 'waiting', waiting: 1, blockers });
    expect(JSON.stringify(body)).not.toContain('private');
  }
  const ended = await get<EventDetailsBody>(hub, `/api/introspection?id=${id}`);
  expect(ended.body).not.toHaveProperty('explanation');
});

it('serve recent and failed events with their type', async () => {
  const { hub } = await startShop();
  const { body } = await get<EventBody>(hub, '/api/events/mailed');
  expect(body.recentEvents).toMatchObject([{ status: 'failed', error: { message: 'no address' } }]);
  expect(body.failedEvents).toEqual(body.recentEvents);
});

it.each([
  ['/api/introspection?id=unknown', 'ERR_UNKNOWN_EVENT_ID'],
  ['/api/introspection?id=', 'ERR_UNKNOWN_EVENT_ID'],
  ['/api/events/ordered?id=unknown', 'ERR_UNKNOWN_EVENT_ID'],
  ['/api/events/unknown?id=unknown', 'ERR_UNKNOWN_EVENT'],
  ['/api/introspection?request=unknown', 'ERR_UNKNOWN_REQUEST_ID'],
  ['/api/introspection?request=%0a', 'ERR_UNKNOWN_REQUEST_ID'],
])('respond to %s with 404 and %s', async (path, code) => {
  const { hub } = await startShop();
  expect(await get(hub, path)).toMatchObject({ status: 404, body: { error: { code } } });
});

it('do not find an event under the name of another type', async () => {
  const { hub, id } = await startShop();
  expect(await get(hub, `/api/events/mailed?id=${id}`)).toMatchObject({ status: 404 });
});

describe('the lookups of all callers together', () => {
  async function setUp() {
    const { hub, clock } = await startTestHub();
    const route = createRouter(hub, { basePath: '', onFailure: vi.fn() });
    const statusOf = async (path: string): Promise<number> => {
      const request = { method: 'GET', targets: [path], acceptEncoding: undefined, ifNoneMatch: undefined };
      return (await route(request)).status;
    };
    return { hub, clock, statusOf };
  }

  it('ask the hub once per second for an id that is not retained', async () => {
    const { hub, clock, statusOf } = await setUp();
    const find = vi.spyOn(hub, 'find');
    const ask = (): Promise<number> => statusOf('/api/introspection?id=unknown');
    expect([await ask(), await ask(), ...(await Promise.all([ask(), ask()]))]).toEqual([404, 404, 404, 404]);
    expect(find).toHaveBeenCalledTimes(1);
    await clock.advance(1_000);
    expect(await ask()).toBe(404);
    expect(find).toHaveBeenCalledTimes(2);
  });

  it('ask the hub for four ids at once and 50 per second, and are refused beyond', async () => {
    const { hub, clock, statusOf } = await setUp();
    const find = vi.spyOn(hub, 'find');
    let [inFlight, most] = [0, 0];
    find.mockImplementation(async () => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      await new Promise((resolve) => setImmediate(resolve));
      inFlight -= 1;
      return [];
    });
    const paths = Array.from({ length: 80 }, (_, index) => `/api/introspection?id=${index}`);
    const statuses = await Promise.all(paths.map(statusOf));
    expect(statuses.filter((status) => status === 404)).toHaveLength(50);
    expect(statuses.filter((status) => status === 429)).toHaveLength(30);
    expect(most).toBe(4);
    expect(await statusOf('/api/introspection')).toBe(200);
    await clock.advance(1_000);
    expect(await statusOf('/api/events/order.created?id=another')).toBe(404);
  });

  it('read ranges that the same periods cover once', async () => {
    const { hub, clock, statusOf } = await setUp();
    const getRange = vi.spyOn(hub, 'getRange');
    const now = clock.now();
    const minute = now - (now % 60_000);
    for (const [from, to] of [
      [minute - 119_000, minute - 1],
      [minute - 120_000, minute],
      [minute - 70_000, minute - 59_000],
    ]) {
      expect(await statusOf(`/api/introspection?from=${from}&to=${to}`)).toBe(200);
    }
    expect(getRange).toHaveBeenCalledTimes(1);
    expect(getRange).toHaveBeenCalledWith(minute - 120_000, minute);
  });
});
