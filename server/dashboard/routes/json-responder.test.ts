import { gunzipSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { createDashboardHandler } from '../index.js';
import { startTestHub } from '../test-hub.fixture.js';
import { jsonOf, serve } from '../test-server.fixture.js';
import { createJsonBodyCache, type JsonSource } from './json-responder.js';

const introspection = '/api/introspection';
const orderCreated = '/api/events/order.created';

async function setUp() {
  const { hub, clock } = await startTestHub();
  const server = await serve(createDashboardHandler(hub));
  const emit = async () => {
    await hub.emit('order.created', {});
    await clock.settle();
  };
  return { hub, clock, server, emit };
}

describe.each([introspection, orderCreated])('the JSON of %s', (path) => {
  it('is not sent or read again while it is unchanged', async () => {
    const { hub, server } = await setUp();
    const { etag = '' } = (await server.get(path)).headers;
    expect(etag).toMatch(/^W\/"[!#-~]+"$/);
    const reads = [vi.spyOn(hub, 'introspect'), vi.spyOn(hub, 'metrics'), vi.spyOn(hub, 'failures')];
    const reply = await server.get(path, { 'if-none-match': `"old", ${etag}` });
    expect(reply.status).toBe(304);
    expect(reply.body).toHaveLength(0);
    expect(reply.headers).toMatchObject({ etag, 'cache-control': 'no-cache', vary: 'Accept-Encoding' });
    expect(reply.headers).not.toHaveProperty('content-type');
    for (const read of reads) expect(read).not.toHaveBeenCalled();
  });

  it('is sent again in the second after an event', async () => {
    const { server, clock, emit } = await setUp();
    const { etag } = (await server.get(path)).headers;
    await emit();
    expect((await server.get(path, { 'if-none-match': etag })).status).toBe(304);
    await clock.advance(1_000);
    const reply = await server.get(path, { 'if-none-match': etag });
    expect(reply.status).toBe(200);
    expect(reply.headers.etag).not.toBe(etag);
  });

  it('is sent again by another hub and by another handler of the same hub', async () => {
    const first = await setUp();
    const second = await setUp();
    const { etag } = (await first.server.get(path)).headers;
    const other = await serve(createDashboardHandler(first.hub));
    expect((await second.server.get(path, { 'if-none-match': etag })).status).toBe(200);
    expect((await other.get(path, { 'if-none-match': etag })).status).toBe(200);
  });

  it('is gzipped above 1 KiB if the client accepts it', async () => {
    const { server } = await setUp();
    const plain = await server.get(path, { 'accept-encoding': 'br' });
    expect(plain.body.length).toBeGreaterThan(1024);
    expect(plain.headers).not.toHaveProperty('content-encoding');
    const gzipped = await server.get(path, { 'accept-encoding': 'br, gzip' });
    expect(gzipped.headers).toMatchObject({ 'content-encoding': 'gzip', 'content-length': `${gzipped.body.length}` });
    expect(gunzipSync(gzipped.body)).toEqual(plain.body);
  });
});

it('sends small JSON uncompressed', async () => {
  const { hub } = await startTestHub([]);
  const server = await serve(createDashboardHandler(hub));
  const reply = await server.get(`${introspection}?from=0&to=1`, { 'accept-encoding': 'gzip' });
  expect(reply.body.length).toBeLessThan(1024);
  expect(reply.headers).not.toHaveProperty('content-encoding');
  expect(jsonOf(reply)).toMatchObject({ protocol: 2 });
});

it('sends the last hour again after a minute', async () => {
  const { server, clock } = await setUp();
  const { etag } = (await server.get(orderCreated)).headers;
  await clock.advance(60_000);
  expect((await server.get(orderCreated, { 'if-none-match': etag })).status).toBe(200);
});

it('reads the hub once for ten concurrent requests', async () => {
  const { hub, server } = await setUp();
  const introspect = vi.spyOn(hub, 'introspect');
  const replies = await Promise.all(Array.from({ length: 10 }, () => server.get(introspection)));
  expect(replies.map(({ status }) => status)).toEqual(Array(10).fill(200));
  expect(introspect).toHaveBeenCalledTimes(1);
});

it('responds with 404 to If-None-Match: * for an unknown type', async () => {
  const { server } = await setUp();
  expect((await server.get('/api/events/nothing', { 'if-none-match': '*' })).status).toBe(404);
});

function setUpCache() {
  const clock = { now: 0 };
  let reads = 0;
  const revision = { current: '1' };
  const cached = createJsonBodyCache(() => clock.now);
  const source = (key: string): JsonSource => ({
    key,
    revision: async () => revision.current,
    read: async () => {
      reads += 1;
      return { reads };
    },
  });
  const text = async (key: string): Promise<string> => {
    const json = await cached(source(key));
    return `${json.revision} ${(await json.body()).plain}`;
  };
  return { clock, revision, cached, source, text };
}

describe('createJsonBodyCache', () => {
  it('reads once for concurrent calls', async () => {
    const { text } = setUpCache();
    const texts = await Promise.all(Array.from({ length: 10 }, () => text('a')));
    expect(new Set(texts)).toEqual(new Set(['1 {"reads":1}']));
  });

  it('serves revision and body for one second, whatever changes', async () => {
    const { clock, revision, text } = setUpCache();
    await text('a');
    revision.current = '2';
    clock.now = 999;
    expect(await text('a')).toBe('1 {"reads":1}');
    clock.now = 1000;
    expect(await text('a')).toBe('2 {"reads":2}');
  });

  it('separates keys', async () => {
    const { text } = setUpCache();
    await text('a');
    expect(await text('b')).toBe('1 {"reads":2}');
  });

  it('reads no body until one is needed', async () => {
    const { cached, source, text } = setUpCache();
    expect((await cached(source('a'))).revision).toBe('1');
    expect(await text('b')).toBe('1 {"reads":1}');
  });

  it.each(['revision', 'read'] as const)('does not retain an error of %s', async (method) => {
    const { cached, source, text } = setUpCache();
    const broken = { ...source('a'), [method]: () => Promise.reject(new Error('away')) };
    const body = cached(broken).then((json) => json.body());
    await expect(body).rejects.toThrow('away');
    expect(await text('a')).toBe('1 {"reads":1}');
  });

  it('retains 32 bodies and evicts the oldest', async () => {
    const { text } = setUpCache();
    for (let key = 1; key <= 33; key += 1) await text(`${key}`);
    expect(await text('2')).toBe('1 {"reads":2}');
    expect(await text('1')).toBe('1 {"reads":34}');
  });

  it('compresses a body once', async () => {
    const { cached, source } = setUpCache();
    const body = await (await cached(source('a'))).body();
    const gzipped = await body.gzipped();
    expect(gunzipSync(gzipped).toString()).toBe('{"reads":1}');
    expect(await body.gzipped()).toBe(gzipped);
  });
});
