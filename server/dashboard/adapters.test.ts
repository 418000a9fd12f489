import { request } from 'node:http';
import express from 'express';
import helmet from 'helmet';
import { describe, expect, it } from 'vitest';
import { frameworks, type Mount } from './frameworks.fixture.js';
import { createDashboardHandler, getDashboardHtml } from './index.js';
import { startTestHub } from './test-hub.fixture.js';
import { jsonOf, type Reply, serve, type TestServer } from './test-server.fixture.js';

/** Starts a proxy that forwards paths below `prefix` with the prefix removed. */
function serveProxy(prefix: string, port: number): Promise<TestServer> {
  return serve((req, res) => {
    const path = req.url?.slice(prefix.length) || '/';
    const { method, headers } = req;
    const forwarded = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, (reply) => {
      res.writeHead(reply.statusCode ?? 502, reply.rawHeaders);
      reply.pipe(res);
    });
    req.pipe(forwarded);
  });
}

function expectPage(reply: Reply): void {
  expect(reply.status).toBe(200);
  expect(reply.headers['content-type']).toBe('text/html; charset=utf-8');
  expect(reply.body.toString()).toBe(getDashboardHtml());
}

async function expectDashboard(server: TestServer, base: string, methods = ['POST', 'OPTIONS', 'HEAD']): Promise<void> {
  if (base !== '') expectPage(await server.get(base));
  const page = await server.get(`${base}/`);
  expectPage(page);
  expectPage(await server.get(`${base}/?from=mail`));
  expect(page.headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'sha256-/);
  expect((await server.get(`${base}/`, { 'if-none-match': page.headers.etag })).status).toBe(304);

  expect(jsonOf(await server.get(`${base}/api/introspection`))).toMatchObject({
    protocol: 2,
    hub: { service: 'shop' },
  });
  for (const type of ['order.created', 'a/b', '50%', '日本', '__proto__']) {
    const reply = await server.get(`${base}/api/events/${encodeURIComponent(type)}`);
    expect(jsonOf(reply)).toMatchObject({ type, received: 0 });
  }

  expect((await server.get(`${base}/nothing`)).status).toBe(404);
  expect((await server.get(`${base}/api/events/nothing`)).status).toBe(404);
  for (const method of methods) {
    const reply = await server.send(method, `${base}/`);
    expect(reply.status).toBe(405);
    expect(reply.headers.allow).toBe('GET');
  }
}

describe.each(Object.entries(frameworks))('%s', (name, mountIn) => {
  // Hono builds a second response to HEAD from the first one and warns about it on the console.
  const methods = name === 'Hono' ? ['POST', 'OPTIONS'] : ['POST', 'OPTIONS', 'HEAD'];

  const start = async (mount: Mount): Promise<TestServer> => {
    const { hub } = await startTestHub();
    return serve(await mountIn(createDashboardHandler(hub, { basePath: mount }), mount));
  };

  it.each(['/', '/ops/hub'] as const)('serves the dashboard at %s', async (mount) => {
    await expectDashboard(await start(mount), mount === '/' ? '' : mount, methods);
  });

  it.each(['/', '/ops/hub'] as const)(
    'serves the dashboard at %s behind a proxy that strips a prefix',
    async (mount) => {
      const { port } = await start(mount);
      const proxy = await serveProxy('/proxied', port);
      await expectDashboard(proxy, `/proxied${mount === '/' ? '' : mount}`, methods);
    },
  );
});

describe('Express', () => {
  it.each([undefined, '/dash', 'dash/'])("works with app.use('/dash', handler) and basePath %j", async (basePath) => {
    const { hub } = await startTestHub();
    const handler = createDashboardHandler(hub, basePath === undefined ? {} : { basePath });
    await expectDashboard(await serve(express().use('/dash', handler)), '/dash');
  });

  it.each([undefined, '/hub', '/ops/hub'])('works in a nested router with basePath %j', async (basePath) => {
    const { hub } = await startTestHub();
    const handler = createDashboardHandler(hub, basePath === undefined ? {} : { basePath });
    const ops = express.Router().use('/hub', handler);
    await expectDashboard(await serve(express().use('/ops', ops)), '/ops/hub');
  });

  it.each([undefined, '/dash'])('works behind middleware that rewrites the URL, with basePath %j', async (basePath) => {
    const { hub } = await startTestHub();
    const app = express().use((req, _, next) => {
      req.url = req.url.replace('/v1', '');
      next();
    });
    app.use('/dash', createDashboardHandler(hub, basePath === undefined ? {} : { basePath }));
    await expectDashboard(await serve(app), '/v1/dash');
  });

  it('replaces the policy that helmet has set with its own', async () => {
    const { hub } = await startTestHub();
    const app = express().use(helmet()).use('/dash', createDashboardHandler(hub));
    const server = await serve(app);
    await expectDashboard(server, '/dash');
    const { headers } = await server.get('/dash');
    expect(headers).toMatchObject({
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cross-origin-opener-policy': 'same-origin',
    });
    expect(headers['content-security-policy']).toMatch(/; frame-ancestors 'none'$/);
  });
});
