import { gunzipSync } from 'node:zlib';
import { serve as serveHono } from '@hono/node-server';
import { Hono } from 'hono';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createDashboardFetch, createDashboardHandler, type DashboardFetchOptions, getDashboardHtml } from './index.js';
import { hostileTypes, startTestHub } from './test-hub.fixture.js';
import { serve } from './test-server.fixture.js';

async function setUp(options?: DashboardFetchOptions) {
  const { hub, clock, lines } = await startTestHub();
  const dashboard = createDashboardFetch(hub, options);
  const get = (path: string, init: RequestInit = {}): Promise<Response> =>
    dashboard(new Request(`http://127.0.0.1:4000${path}`, init));
  return { hub, clock, lines, dashboard, get };
}

describe('createDashboardFetch', () => {
  it('responds as the handler for node:http does', async () => {
    const { hub, get } = await setUp();
    const server = await serve(createDashboardHandler(hub));
    const paths = ['/', '/?from=mail', '/nothing', '/api/introspection?from=1&to=0', '/api/introspection?id=unknown'];
    for (const path of [...paths, ...hostileTypes.map((type) => `/api/events/${encodeURIComponent(type)}`)]) {
      const [expected, got] = [await server.get(path), await get(path)];
      expect([path, got.status]).toEqual([path, expected.status]);
      for (const name of [
        'content-type',
        'content-security-policy',
        'cache-control',
        'cross-origin-opener-policy',
        'cross-origin-resource-policy',
        'x-content-type-options',
        'vary',
      ]) {
        expect([name, got.headers.get(name)]).toEqual([name, expected.headers[name] ?? null]);
      }
      if (got.status !== 200) expect(await got.text()).toBe(expected.body.toString());
    }
    expect(await (await get('/')).text()).toBe(getDashboardHtml());
  });

  it('serves compressed bodies and 304', async () => {
    const { get } = await setUp();
    const page = await get('/', { headers: { 'accept-encoding': 'gzip' } });
    expect(page.headers.get('content-encoding')).toBe('gzip');
    expect(gunzipSync(await page.arrayBuffer()).toString()).toBe(getDashboardHtml());
    const again = await get('/', {
      headers: { 'accept-encoding': 'gzip', 'if-none-match': page.headers.get('etag') ?? '' },
    });
    expect([again.status, again.body]).toEqual([304, null]);
  });

  it('does not compress for Next, which drops the encoding of a response', async () => {
    const { dashboard } = await setUp();
    const request = new Request('http://127.0.0.1:4000/', { headers: { 'accept-encoding': 'br, gzip' } });
    const page = await dashboard(Object.assign(request, { nextUrl: new URL(request.url) }));
    expect(page.headers.get('content-encoding')).toBeNull();
    expect(await page.text()).toBe(getDashboardHtml());
  });

  it.each(['POST', 'HEAD', 'OPTIONS', 'DELETE'])('refuses %s with 405, without a call of authorize', async (method) => {
    const authorize = vi.fn(() => true);
    const { get } = await setUp({ authorize });
    const response = await get('/', { method });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET']);
    expect(authorize).not.toHaveBeenCalled();
  });

  it('guards every path, and lets onUnauthorized redirect', async () => {
    const authorize = (request: Request): boolean => request.headers.get('cookie') === 'session=1';
    const onUnauthorized = (request: Request): Response | undefined =>
      new URL(request.url).pathname === '/dash/' ? Response.redirect('http://127.0.0.1:4000/login', 302) : undefined;
    const { get } = await setUp({ basePath: 'dash', authorize, onUnauthorized });
    expect((await get('/dash/', { headers: { cookie: 'session=1' } })).status).toBe(200);
    const redirected = await get('/dash/');
    expect([redirected.status, redirected.headers.get('location')]).toEqual([302, 'http://127.0.0.1:4000/login']);
    const refused = await get('/dash/api/introspection');
    expect([refused.status, await refused.json()]).toMatchObject([401, { error: { code: 'ERR_UNAUTHORIZED' } }]);
    expect(refused.headers.get('cache-control')).toBe('private, no-cache');
  });

  it('answers 500 if authorize throws, 503 if it does not settle, 403 for another host', async () => {
    const failing = await setUp({ authorize: () => Promise.reject(new Error('no database')) });
    expect((await failing.get('/')).status).toBe(500);
    const silent = await setUp({ authorize: () => new Promise(() => {}) });
    const response = silent.get('/');
    await silent.clock.advance(10_000);
    expect((await response).status).toBe(503);
    const { get } = await setUp({ allowedHosts: ['localhost'] });
    expect((await get('/')).status).toBe(403);
    expect((await get('/', { headers: { host: 'localhost:4000' } })).status).toBe(200);
  });

  it('refuses options that nobody reads, and what is no hub', async () => {
    const { hub } = await setUp();
    expect(() => createDashboardFetch(hub, { authorise: () => true } as object)).toThrow(
      'option of createDashboardFetch',
    );
    expect(() => createDashboardFetch(hub, { onUnauthorized: () => undefined })).toThrow('onUnauthorized');
    expect(() => createDashboardFetch({} as typeof hub)).toThrow('hub must be a hub created by createHub');
  });

  it('serves under a mount of Hono, over a real server', async () => {
    const { hub } = await setUp();
    const dashboard = createDashboardFetch(hub, { basePath: '/ops/hub' });
    const app = new Hono();
    app.all('/ops/hub', (c) => dashboard(c.req.raw));
    app.all('/ops/hub/*', (c) => dashboard(c.req.raw));
    const url = await new Promise<string>((resolve) => {
      const server = serveHono({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) =>
        resolve(`http://127.0.0.1:${port}/ops/hub`),
      );
      onTestFinished(() => void server.close());
    });
    expect(await (await fetch(url)).text()).toBe(getDashboardHtml());
    expect(await (await fetch(`${url}/api/introspection`)).json()).toMatchObject({ protocol: 2 });
  });
});
