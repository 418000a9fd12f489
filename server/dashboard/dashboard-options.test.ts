import { afterEach, describe, expect, it, vi } from 'vitest';
import { InvalidOptionError } from '../errors.js';
import { createDashboardHandler, type DashboardOptions } from './index.js';
import { startTestHub } from './test-hub.fixture.js';
import { jsonOf, serve } from './test-server.fixture.js';

async function setUp(options: DashboardOptions) {
  const { hub, clock, lines } = await startTestHub();
  return { hub, clock, lines, server: await serve(createDashboardHandler(hub, options)) };
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
    expect(lines).toEqual([]);
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
      { level: 'error', fields: { err: new Error('secret') }, message: expect.stringContaining('authorize') },
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

describe('redactError', () => {
  async function failures(redactError: NonNullable<DashboardOptions['redactError']>) {
    const { hub, clock, server, lines } = await setUp({ redactError });
    await hub.emit('order.refused', {});
    await clock.settle();
    return { reply: await server.get('/api/events/order.refused'), lines };
  }

  it('returns the name and message to show', async () => {
    const { reply } = await failures(({ name, message }) => ({ name, message: message.replace(/\d/g, 'x') }));
    expect(jsonOf(reply)).toMatchObject({
      recentFailures: [{ attempt: 1, name: 'RangeError', message: 'card xxxx was refused' }],
    });
  });

  it('applies to the errors of workflow runs', async () => {
    const { hub, clock, server } = await setUp({ redactError: ({ name }) => ({ name, message: 'hidden' }) });
    await hub.startWorkflow('refund', {});
    await clock.settle();
    const reply = await server.get('/api/introspection');
    expect(jsonOf(reply)).toMatchObject({
      workflows: [{ runs: [{ error: { name: 'RangeError', message: 'hidden' } }] }],
    });
    expect(reply.body.toString()).not.toContain('4242');
  });

  it('cannot add fields', async () => {
    const { reply } = await failures((error) => ({ ...error, name: '', message: '', payload: 'secret' }));
    expect(reply.body.toString()).not.toContain('secret');
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('away');
      },
      'away',
    ],
    // Untyped code may return anything.
    ['returns nothing', () => JSON.parse('null'), 'redactError must return { name, message }, both strings, got null'],
    [
      'returns a text',
      () => JSON.parse('"hidden"'),
      'redactError must return { name, message }, both strings, got "hidden"',
    ],
  ])('shows no failure if it %s', async (_, redactError, message) => {
    const { reply, lines } = await failures(redactError);
    expect(reply.status).toBe(500);
    expect(reply.body.toString()).not.toContain('4242');
    expect(lines.at(-1)).toMatchObject({ level: 'error', fields: { err: { message } } });
  });
});

describe('invalid arguments', () => {
  it.each([
    [{ basePath: 7 }, 'basePath must be a path such as "/dash", percent-encoded, without "?" or "#", got 7'],
    [{ basePath: 'https://example.com/dash' }, 'got "https://example.com/dash"'],
    [{ authorize: 'admin' }, 'authorize of createDashboardHandler must be a function, got "admin"'],
    [{ authorise: () => true }, 'one of basePath, authorize, frameAncestors, redactError, got "authorise"'],
    [{ redactError: true }, 'redactError of createDashboardHandler must be a function, got true'],
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
