import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import express from 'express';
import fastify from 'fastify';
import helmet from 'helmet';
import { Hono } from 'hono';
import Koa from 'koa';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Hub } from '../hub/hub.js';
import { createDashboardHandler, getDashboardHtml } from './index.js';
import { startTestHub } from './test-hub.fixture.js';
import { clientOf, jsonOf, type Reply, serve, type TestServer } from './test-server.fixture.js';

type Mount = '/' | '/ops/hub';

const frameworks: Record<string, (hub: Hub, mount: Mount) => Promise<TestServer>> = {
  'node:http': (hub, mount) => serve(createDashboardHandler(hub, { basePath: mount })),

  'Express 5': (hub, mount) => serve(express().use(mount, createDashboardHandler(hub))),

  async 'Fastify 5'(hub, mount) {
    const handler = createDashboardHandler(hub, { basePath: mount });
    const app = fastify();
    for (const path of mount === '/' ? ['/*'] : [mount, `${mount}/*`]) {
      app.all(path, (req, reply) => {
        reply.hijack();
        handler(req.raw, reply.raw);
      });
    }
    onTestFinished(() => app.close());
    await app.listen({ port: 0, host: '127.0.0.1' });
    // A server that listens on a port has an address of this shape.
    return clientOf((app.server.address() as AddressInfo).port);
  },

  Hono(hub, mount) {
    const handler = createDashboardHandler(hub, { basePath: mount });
    const app = new Hono<{ Bindings: HttpBindings }>();
    app.all(mount === '/' ? '/*' : `${mount}/*`, (c) => {
      handler(c.env.incoming, c.env.outgoing);
      return RESPONSE_ALREADY_SENT;
    });
    return serve(getRequestListener(app.fetch));
  },

  Koa(hub, mount) {
    const handler = createDashboardHandler(hub, { basePath: mount });
    const app = new Koa();
    app.use((ctx) => {
      ctx.respond = false;
      handler(ctx.req, ctx.res);
    });
    return serve(app.callback());
  },
};

/** A proxy that forwards what is below `prefix`, without it. */
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
    protocol: 1,
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

describe.each(Object.entries(frameworks))('%s', (name, start) => {
  // Hono makes a second answer of the one that was sent to HEAD, and complains of that on the console.
  const methods = name === 'Hono' ? ['POST', 'OPTIONS'] : ['POST', 'OPTIONS', 'HEAD'];

  it.each(['/', '/ops/hub'] as const)('serves the dashboard at %s', async (mount) => {
    const { hub } = await startTestHub();
    await expectDashboard(await start(hub, mount), mount === '/' ? '' : mount, methods);
  });

  it.each(['/', '/ops/hub'] as const)('serves it at %s behind a proxy that strips a prefix', async (mount) => {
    const { hub } = await startTestHub();
    const { port } = await start(hub, mount);
    const proxy = await serveProxy('/proxied', port);
    await expectDashboard(proxy, `/proxied${mount === '/' ? '' : mount}`, methods);
  });
});

describe('Express', () => {
  it.each([undefined, '/dash', 'dash/'])("takes app.use('/dash', handler) with basePath %j", async (basePath) => {
    const { hub } = await startTestHub();
    const handler = createDashboardHandler(hub, basePath === undefined ? {} : { basePath });
    await expectDashboard(await serve(express().use('/dash', handler)), '/dash');
  });

  it.each([undefined, '/hub', '/ops/hub'])('takes it in a router of a router with basePath %j', async (basePath) => {
    const { hub } = await startTestHub();
    const handler = createDashboardHandler(hub, basePath === undefined ? {} : { basePath });
    const ops = express.Router().use('/hub', handler);
    await expectDashboard(await serve(express().use('/ops', ops)), '/ops/hub');
  });

  it.each([undefined, '/dash'])('takes it behind what rewrites the URL, with basePath %j', async (basePath) => {
    const { hub } = await startTestHub();
    const app = express().use((req, _, next) => {
      req.url = req.url.replace('/v1', '');
      next();
    });
    app.use('/dash', createDashboardHandler(hub, basePath === undefined ? {} : { basePath }));
    await expectDashboard(await serve(app), '/v1/dash');
  });

  it('serves the page under its own policy where helmet has set one', async () => {
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
