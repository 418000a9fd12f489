import { describe, expect, it } from 'vitest';
import { createDashboardHandler, type DashboardOptions, type EventBody } from './index.js';
import { hostileTypes, startTestHub } from './test-hub.fixture.js';
import { jsonOf, serve } from './test-server.fixture.js';

async function setUp(options?: DashboardOptions) {
  const { hub, clock, lines } = await startTestHub();
  const handler = createDashboardHandler(hub, options);
  return { hub, clock, lines, handler, server: await serve(handler) };
}

describe('routes', () => {
  it('/api/introspection lists everything registered, with counts', async () => {
    const { hub, clock, server } = await setUp();
    await hub.emit('order.created', {});
    await clock.settle();
    const reply = await server.get('/api/introspection?at=1');
    expect(reply.status).toBe(200);
    expect(reply.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-cache',
    });
    expect(jsonOf(reply)).toMatchObject({
      protocol: 2,
      hub: { service: 'shop', transport: 'memory' },
      events: [
        {
          type: 'order.created',
          kind: 'handler',
          description: 'An order came in',
          metrics: { received: 1, completed: 1, failed: 0, pending: 0 },
        },
        { type: 'order.refused' },
        ...hostileTypes.map((type) => ({ type })),
      ],
      workflows: [{ name: 'refund', runs: [] }],
      agents: [],
    });
  });

  it('/api/introspection?events=columns has the same content, with the types as columns', async () => {
    const { hub, clock, server } = await setUp();
    await hub.emit('order.created', {});
    await hub.emit('order.refused', {});
    await clock.settle();
    const { events, ...rest } = Object(jsonOf(await server.get('/api/introspection')));
    const [created, refused] = events;
    const none = hostileTypes.map(() => 0);
    const nothing = hostileTypes.map(() => null);
    expect(jsonOf(await server.get('/api/introspection?events=columns'))).toEqual({
      ...rest,
      events: {
        types: ['order.created', 'order.refused', ...hostileTypes],
        metrics: {
          received: [1, 1, ...none],
          completed: [1, 0, ...none],
          failed: [0, 1, ...none],
          deadLetters: [0, 1, ...none],
          lastReceivedAt: [created.metrics.lastReceivedAt, refused.metrics.lastReceivedAt, ...nothing],
          lastFailedAt: [null, refused.metrics.lastFailedAt, ...nothing],
        },
        last5Min: { received: [1, 1, ...none], completed: [1, 0, ...none], failed: [0, 1, ...none] },
        waitP95Ms: [0, 0, ...nothing],
        durationP95Ms: [0, 0, ...nothing],
        processes: [1, 1, ...hostileTypes.map(() => 1)],
        minutes: {
          received: ['1', '1', ...hostileTypes.map(() => '')],
          failed: ['', '1', ...hostileTypes.map(() => '')],
        },
        details: [
          { index: 0, kind: 'handler', description: 'An order came in' },
          { index: 1, kind: 'handler', lastFailure: refused.lastFailure },
        ],
      },
    });
  });

  it('/api/introspection?from=&to= has the counts of a range, and refuses what is no range', async () => {
    const { hub, clock, server } = await setUp();
    await hub.emit('order.created', {});
    await clock.settle();
    const at = clock.now();
    const reply = await server.get(`/api/introspection?from=${at - 60_000}&to=${at + 1}`);
    expect(jsonOf(reply)).toMatchObject({
      protocol: 2,
      from: at - 60_000,
      to: at + 60_000,
      stepMs: 60_000,
      events: expect.arrayContaining([
        { type: 'order.created', counts: { received: 1, completed: 1, failed: 0, cancelled: 0, retried: 0 } },
      ]),
    });
    for (const query of ['from=1', 'from=b&to=2', 'from=2&to=1', 'from=-1&to=1']) {
      expect((await server.get(`/api/introspection?${query}`)).status).toBe(400);
    }
  });

  it('/api/events/:type has the last hour and the failures of a type, but no payload and no stack', async () => {
    const { hub, clock, server } = await setUp();
    const { id } = await hub.emit('order.refused', { card: 'payload-4711' });
    await clock.settle();
    const reply = await server.get('/api/events/order.refused');
    expect(reply.status).toBe(200);
    expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(jsonOf(reply)).toMatchObject({
      type: 'order.refused',
      received: 1,
      completed: 0,
      failed: 1,
      pending: 0,
      deduplicated: 0,
      durationMs: { last5Min: { max: expect.any(Number) } },
      recent: { last5Min: { received: 1, failed: 1 } },
      deadLetters: 1,
      recentFailures: [{ id, at: clock.now(), attempt: 1, name: 'RangeError', message: 'card 4242 was refused' }],
    });
    const { histories } = jsonOf(reply) as EventBody; // its shape was matched above
    expect(histories.minutes.failed).toEqual([...Array.from({ length: 59 }, () => 0), 1]);
    expect(reply.body.toString()).not.toMatch(/payload-4711|test-hub/);
  });

  it.each(hostileTypes)('serves the type %j under its encoded name', async (type) => {
    const { server } = await setUp({ basePath: 'ops/hub/' });
    const reply = await server.get(`/ops/hub/api/events/${encodeURIComponent(type)}`);
    expect(reply.status).toBe(200);
    expect(jsonOf(reply)).toMatchObject({ type, received: 0, recentFailures: [] });
  });

  it('serves a type with slashes under its unencoded name', async () => {
    const { server } = await setUp();
    expect(jsonOf(await server.get('/api/events/a/b'))).toMatchObject({ type: 'a/b' });
  });

  it('sets the same security headers on every response', async () => {
    const { server } = await setUp();
    const { etag } = (await server.get('/')).headers;
    const replies = [
      await server.get('/'),
      await server.get('/', { 'if-none-match': etag }),
      await server.get('/api/introspection'),
      await server.get('/api/events/order.created'),
      await server.get('/nothing'),
      await server.send('POST', '/'),
    ];
    expect(replies.map(({ status }) => status)).toEqual([200, 304, 200, 200, 404, 405]);
    for (const { headers } of replies) {
      expect(headers).toMatchObject({
        'cache-control': 'no-cache',
        'content-security-policy': expect.stringMatching(/^default-src 'none'; script-src 'sha256-/),
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'x-robots-tag': 'noindex',
      });
      expect(headers).not.toHaveProperty('location');
    }
  });

  it('appends to an existing Vary header', async () => {
    const { handler } = await setUp();
    const server = await serve((req, res) => {
      res.setHeader('Vary', 'Origin');
      handler(req, res);
    });
    expect((await server.get('/')).headers.vary).toBe('Origin, Accept-Encoding');
  });
});

describe('rejected requests', () => {
  it.each([
    '/nothing',
    '//',
    '/index.html',
    '/api',
    '/api/',
    '/api/introspection/',
    '/api/Introspection',
    '/api/%69ntrospection',
    '/api/events',
    '/api/events/',
    '/api/events/nothing',
    '/api/events/order.created/',
    '/api/events/%',
    '/api/events/%ff',
    '/api/events/%00',
    '/api/events/50%',
    `/api/events/${'y'.repeat(5000)}`,
    '/../',
    '/__proto__',
  ])('GET %s leads to 404', async (path) => {
    const { server } = await setUp();
    const reply = await server.get(path);
    expect(reply.status).toBe(404);
    expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(jsonOf(reply)).toEqual({ error: { code: expect.stringMatching(/^ERR_/), message: expect.any(String) } });
  });

  it('does not reveal the registered types', async () => {
    const { server } = await setUp();
    const reply = await server.get('/api/events/order.create');
    expect(reply.body.toString()).not.toContain('order.created');
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'PROPFIND'])(
    '%s leads to 405 on any path',
    async (method) => {
      const { server } = await setUp({ authorize: () => false });
      for (const path of ['/', '/api/introspection', '/api/events/order.created', '/nothing']) {
        const reply = await server.send(method, path);
        expect(reply.status).toBe(405);
        expect(reply.headers).toMatchObject({ allow: 'GET', 'content-type': 'application/json; charset=utf-8' });
        if (method === 'HEAD') expect(reply.body).toHaveLength(0);
        else expect(jsonOf(reply)).toMatchObject({ error: { code: 'ERR_METHOD_NOT_ALLOWED' } });
      }
    },
  );

  it.each(['/', '/dash2', '/das', '/x/dash/', '/Dash/'])('%s is not below the base path', async (path) => {
    const { server } = await setUp({ basePath: '/dash' });
    expect((await server.get(path)).status).toBe(404);
  });
});
