import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { InvalidOptionError } from '../errors.js';
import { TransportUnavailableError } from '../transports/errors.js';
import { createDashboardHandler, type DashboardOptions } from './index.js';
import { hostileTypes, startTestHub } from './test-hub.fixture.js';
import { jsonOf, serve } from './test-server.fixture.js';

async function setUp(options: DashboardOptions) {
  const { hub, clock, lines } = await startTestHub();
  return { hub, clock, lines, server: await serve(createDashboardHandler(hub, options)) };
}

class Deferred {
  declare resolve: () => void;
  readonly promise: Promise<void> = new Promise((resolve) => {
    this.resolve = resolve;
  });
}

afterEach(() => {
  vi.unstubAllEnvs();
});

describe('basePath', () => {
  it.each(['dash', '/dash', '/dash/'])('%j serves /dash and every route below', async (basePath) => {
    const { server } = await setUp({ basePath });
    for (const path of ['/dash', '/dash/', '/dash?x=1', '/dash/api/introspection', '/dash/api/events/order.created']) {
      expect((await server.get(path)).status).toBe(200);
    }
  });

  it.each(['', '/', undefined])('%j serves the root', async (basePath) => {
    const { server } = await setUp(basePath === undefined ? {} : { basePath });
    expect((await server.get('/')).status).toBe(200);
    expect((await server.get('/api/introspection')).status).toBe(200);
  });
});

describe('authorize', () => {
  const paths = ['/', '/api/introspection', '/api/events/order.created', '/api/events/nothing', '/nothing'];

  it.each([
    ['true', () => true],
    ['a promise of true', async () => true],
  ])('allows access on %s', async (_, authorize) => {
    const { server } = await setUp({ authorize });
    const statuses = await Promise.all(paths.map(async (path) => (await server.get(path)).status));
    expect(statuses).toEqual([200, 200, 200, 404, 404]);
  });

  it.each([
    ['false', () => false],
    ['a promise of false', async () => false],
    // Untyped code may return anything.
    ['an object', () => JSON.parse('{"name":"Ada"}')],
    ['nothing', () => JSON.parse('null')],
  ])('denies access on %s, on every path', async (_, authorize) => {
    const { server, lines } = await setUp({ authorize });
    for (const path of paths) {
      const reply = await server.get(path);
      expect(reply.status).toBe(401);
      expect(jsonOf(reply)).toMatchObject({ error: { code: 'ERR_UNAUTHORIZED' } });
    }
    expect(lines).toHaveLength(1);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('secret');
      },
    ],
    ['rejects', () => Promise.reject(new Error('secret'))],
  ])('denies access and logs the error if it %s', async (_, authorize) => {
    const { server, lines } = await setUp({ authorize });
    const reply = await server.get('/api/introspection');
    expect(reply.status).toBe(500);
    expect(reply.body.toString()).not.toContain('secret');
    expect(lines).toEqual([
      {
        level: 'error',
        fields: { err: new Error('secret'), refused: 1 },
        message: expect.stringContaining('authorize'),
      },
    ]);
  });

  it('receives the request', async () => {
    const { server } = await setUp({ authorize: (req) => req.headers.authorization === 'Bearer let-me-in' });
    expect((await server.get('/')).status).toBe(401);
    expect((await server.get('/', { authorization: 'Bearer let-me-in' })).status).toBe(200);
  });

  it('logs one warning in production if it is missing', async () => {
    vi.stubEnv('NODE_ENV', 'production');
    const { server, lines } = await setUp({});
    await server.get('/');
    await server.get('/api/introspection');
    expect(lines).toEqual([{ level: 'warn', fields: {}, message: expect.stringContaining('pass authorize') }]);
  });

  it('logs no warning if it is set or outside production', async () => {
    expect((await setUp({})).lines).toEqual([]);
    vi.stubEnv('NODE_ENV', 'production');
    expect((await setUp({ authorize: () => true })).lines).toEqual([]);
  });
});

describe('frameAncestors', () => {
  it('sets the sites that may embed the dashboard', async () => {
    const { server } = await setUp({ frameAncestors: ["'self'", 'https://admin.example.com'] });
    expect((await server.get('/')).headers['content-security-policy']).toMatch(
      /; frame-ancestors 'self' https:\/\/admin\.example\.com$/,
    );
  });
});

describe('failures', () => {
  it('are shown as the hub redacts them', async () => {
    const { hub, clock } = await startTestHub(hostileTypes, {
      redact: ({ name, message }) => ({ name, message: message.replace(/\d/g, 'x') }),
    });
    const server = await serve(createDashboardHandler(hub));
    await hub.emit('order.refused', {});
    await hub.startWorkflow('refund', {});
    await clock.settle();
    expect(jsonOf(await server.get('/api/events/order.refused'))).toMatchObject({
      recentFailures: [{ attempt: 1, name: 'RangeError', message: 'card xxxx was refused' }],
    });
    const reply = await server.get('/api/introspection');
    expect(jsonOf(reply)).toMatchObject({
      workflows: [{ runs: [{ error: { name: 'RangeError', message: 'card xxxx was refused' } }] }],
    });
  });
});

describe('allowedHosts', () => {
  it.each([
    ['localhost', 200],
    ['LOCALHOST:4000', 200],
    ['127.0.0.1:4000', 200],
    ['[::1]:4000', 200],
    ['ops.example.com:8443', 200],
    ['ops.example.com', 403],
    ['rebound.example.net', 403],
    ['rebound.example.net:4000', 403],
    ['localhost.example.net', 403],
    ['localhost@example.net', 403],
  ])('answers the Host %j with %i', async (host, status) => {
    const allowedHosts = ['localhost', '127.0.0.1', '[::1]', 'ops.example.com:8443'];
    const { server } = await setUp({ allowedHosts, authorize: () => true });
    for (const path of ['/', '/api/introspection']) {
      const reply = await server.get(path, { host });
      expect(reply.status).toBe(status);
      if (status === 403) expect(jsonOf(reply)).toMatchObject({ error: { code: 'ERR_FORBIDDEN_HOST' } });
    }
  });
});

it('logs failed reads once per minute and error, with their number', async () => {
  const { hub, clock, lines } = await startTestHub();
  const down = Object.create(hub, {
    revision: { value: () => Promise.reject(new TransportUnavailableError('redis is down')) },
  });
  const server = await serve(createDashboardHandler(down));
  for (let sent = 0; sent < 5; sent += 1) expect((await server.get('/api/introspection')).status).toBe(503);
  await clock.advance(60_000);
  for (let sent = 0; sent < 5; sent += 1) await server.get('/api/introspection?events=columns');
  const code = 'ERR_TRANSPORT_UNAVAILABLE';
  expect(lines.map(({ fields }) => fields)).toMatchObject([
    { err: { code }, count: 1 },
    { err: { code }, count: 5 },
  ]);
});

it.each([
  ['a stranger', {}, 'rebound.example.net', 403],
  ['a stranger that adds a Host header', { host: 'localhost' }, 'rebound.example.net', 403],
  ['localhost', {}, 'localhost:4000', 200],
])('checks the authority of HTTP/2: %s', async (_, headers, authority, status) => {
  const { hub } = await startTestHub();
  const handler = createDashboardHandler(hub, { allowedHosts: ['localhost'] });
  // The compatibility API of node:http2 has the members that the handler uses.
  const server = createHttp2Server((req, res) => handler(req as never, res as never));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    session.destroy();
    server.close();
  });
  const [received] = await once(session.request({ ':path': '/', ':authority': authority, ...headers }), 'response');
  expect(received[':status']).toBe(status);
});

describe('onUnauthorized', () => {
  it('responds in place of the 401', async () => {
    const { server } = await setUp({
      authorize: () => false,
      onUnauthorized: async (_, res) => {
        res.writeHead(302, { Location: '/login' }).end();
      },
    });
    const reply = await server.get('/');
    expect([reply.status, reply.headers.location]).toEqual([302, '/login']);
  });

  it('is followed by the 401 if it does not respond', async () => {
    const onUnauthorized = vi.fn((_: unknown, res: ServerResponse) => {
      res.setHeader('WWW-Authenticate', 'Basic');
    });
    const { server } = await setUp({ authorize: () => false, onUnauthorized });
    const reply = await server.get('/');
    expect([reply.status, reply.headers['www-authenticate']]).toEqual([401, 'Basic']);
    expect(onUnauthorized).toHaveBeenCalledOnce();
  });

  it('that throws leads to 500', async () => {
    const { server, lines } = await setUp({
      authorize: () => false,
      onUnauthorized: () => Promise.reject(new Error('secret')),
    });
    expect((await server.get('/')).status).toBe(500);
    expect(lines.at(-1)).toMatchObject({ level: 'error', message: expect.stringContaining('onUnauthorized') });
  });
});

describe('refusals', () => {
  it('are logged once per minute and reason, with their number', async () => {
    const { server, clock, lines } = await setUp({ authorize: () => false });
    for (let sent = 0; sent < 5; sent += 1) await server.get('/');
    await clock.advance(60_000);
    await server.get('/');
    const message = 'dashboard: requests refused: authorize did not return true';
    expect(lines).toEqual([
      { level: 'warn', fields: { refused: 1 }, message },
      { level: 'warn', fields: { refused: 5 }, message },
    ]);
  });

  it('by an authorize that throws are logged once per minute and error, with their number', async () => {
    let error: Error = new RangeError('secret');
    const { server, clock, lines } = await setUp({
      authorize: () => {
        throw error;
      },
    });
    for (let sent = 0; sent < 5; sent += 1) await server.get('/');
    error = Object.assign(new Error('secret'), { code: 'ECONNREFUSED' });
    await server.get('/');
    await clock.advance(60_000);
    error = new RangeError('secret');
    await server.get('/');
    expect(lines.map(({ fields }) => fields)).toMatchObject([
      { err: { name: 'RangeError' }, refused: 1 },
      { err: { code: 'ECONNREFUSED' }, refused: 1 },
      { err: { name: 'RangeError' }, refused: 5 },
    ]);
  });

  it('follow an authorize that does not settle within 10 seconds', async () => {
    const asked = new Deferred();
    const { server, clock, lines } = await setUp({
      authorize: () => {
        asked.resolve();
        return new Promise<boolean>(() => {});
      },
    });
    const reply = server.get('/');
    await asked.promise;
    await clock.advance(10_000);
    expect((await reply).status).toBe(503);
    expect(jsonOf(await reply)).toMatchObject({ error: { code: 'ERR_AUTHORIZE_TIMEOUT' } });
    expect(lines.at(-1)?.message).toContain('authorize did not settle within 10000 ms');
  });
});

it('keeps responses out of shared caches if authorize is set', async () => {
  const cacheControl = async (options: DashboardOptions): Promise<unknown> =>
    (await (await setUp(options)).server.get('/api/introspection')).headers['cache-control'];
  expect(await cacheControl({ authorize: () => true })).toBe('private, no-cache');
  expect(await cacheControl({})).toBe('no-cache');
});

describe('invalid arguments', () => {
  it.each([
    [{ basePath: 7 }, 'basePath must be a path such as "/dash", percent-encoded, without "?" or "#", got 7'],
    [{ basePath: 'https://example.com/dash' }, 'got "https://example.com/dash"'],
    [{ authorize: 'admin' }, 'authorize of createDashboardHandler must be a function, got a string'],
    [
      { authorise: () => true },
      'one of basePath, authorize, onUnauthorized, allowedHosts, frameAncestors, actions, got "authorise"',
    ],
    [
      { authorize: () => true, onUnauthorized: '/login' },
      'onUnauthorized of createDashboardHandler must be a function',
    ],
    [{ onUnauthorized: () => {} }, 'onUnauthorized of createDashboardHandler must be left out without authorize'],
    [{ allowedHosts: 'localhost' }, 'allowedHosts must be hosts such as'],
    [{ allowedHosts: [] }, 'allowedHosts must be hosts such as'],
    [{ allowedHosts: ['http://localhost'] }, '[\\"http://localhost\\"]'],
    [{ frameAncestors: "'self'" }, `got "'self'"`],
    [{ frameAncestors: [] }, 'frameAncestors must be CSP sources'],
    [{ frameAncestors: ["'self'; script-src *"] }, 'without spaces'],
    [{ frameAncestors: ['a\r\nb'] }, 'without spaces'],
    [{ frameAncestors: ['https://ä.example'] }, 'without spaces'],
    [{ frameAncestors: [7] }, 'frameAncestors must be CSP sources'],
    [null, 'options of createDashboardHandler must be an object, got null'],
  ])('throws immediately for %j', async (options, message) => {
    const { hub } = await startTestHub();
    const create = () => Reflect.apply(createDashboardHandler, undefined, [hub, options]);
    expect(create).toThrow(InvalidOptionError);
    expect(create).toThrow(message);
  });

  it.each([undefined, null, {}, 'hub', () => {}])('%j is not a hub', (hub) => {
    expect(() => Reflect.apply(createDashboardHandler, undefined, [hub])).toThrow(
      'hub must be a hub created by createHub',
    );
  });
});
