import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../../../scripts/property-tests.js';
import { HubError } from '../../errors.js';
import { createHub } from '../../hub/create-hub.js';
import type { Hub } from '../../hub/hub.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import type { Transport } from '../../transports/transport.js';
import type { DashboardRequest } from '../response.js';
import { hostileTypes, startTestHub } from '../test-hub.fixture.js';
import { createRouter } from './router.js';

function request(path: string, more: Partial<DashboardRequest> = {}): DashboardRequest {
  return { method: 'GET', targets: [path], acceptEncoding: undefined, ifNoneMatch: undefined, ...more };
}

function routerOf(hub: Hub, basePath = '') {
  const failures: unknown[] = [];
  const route = createRouter(hub, { basePath, onFailure: (error) => failures.push(error) });
  return { route, failures };
}

/** Returns a memory transport whose reads reject with `error`. */
function brokenTransport(error: unknown): Transport {
  const transport = memoryTransport();
  return {
    connect(options) {
      const connection = transport.connect(options);
      connection.counts.revision = () => Promise.reject(error);
      return connection;
    },
  };
}

describe('createRouter', () => {
  it('responds to any request with 200, 304, 404 or 405, and reports no error', async () => {
    const { hub } = await startTestHub();
    const target = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.webUrl().map((url) => new URL(url).pathname),
      fc.string().map((rest) => `/dash/api/events/${rest}`),
      fc.constantFrom('/dash', '/dash/', '/dash/api/introspection', '/', '*', ''),
      fc.constantFrom(...hostileTypes).map((type) => `/dash/api/events/${encodeURIComponent(type)}`),
    );
    const anyRequest: fc.Arbitrary<DashboardRequest> = fc.record({
      method: fc.oneof({ weight: 4, arbitrary: fc.constant('GET') }, fc.string(), fc.constant(undefined)),
      targets: fc.array(target, { maxLength: 2 }),
      acceptEncoding: fc.option(fc.oneof(fc.string(), fc.constant('gzip, br')), { nil: undefined }),
      ifNoneMatch: fc.option(fc.oneof(fc.string(), fc.constant('*')), { nil: undefined }),
    });
    const { route, failures } = routerOf(hub, '/dash');
    await fc.assert(
      fc.asyncProperty(anyRequest, async (dashboardRequest) => {
        const { status } = await route(dashboardRequest);
        expect([200, 304, 404, 405]).toContain(status);
        expect(status === 405).toBe(dashboardRequest.method !== 'GET');
      }),
      { numRuns: runs(500) },
    );
    expect(failures).toEqual([]);
  });

  it('uses the first target below the base path', async () => {
    const { hub } = await startTestHub();
    const { route } = routerOf(hub, '/dash');
    const statusOf = async (...targets: string[]) => (await route(request('', { targets }))).status;
    expect(await statusOf('/', '/dash/')).toBe(200);
    expect(await statusOf('/nothing', '/dash/api/introspection')).toBe(200);
    expect(await statusOf('/dash/nothing', '/dash/')).toBe(404);
    expect(await statusOf('/', '/')).toBe(404);
    expect(await statusOf()).toBe(404);
  });

  it.each([
    [new HubError('ERR_TRANSPORT_UNAVAILABLE', 'connect ECONNREFUSED 10.1.2.3:6379'), 503, 'ERR_UNAVAILABLE'],
    [new HubError('ERR_SOMETHING_ELSE', 'key secret'), 500, 'ERR_INTERNAL'],
    [new Error('secret'), 500, 'ERR_INTERNAL'],
    ['secret', 500, 'ERR_INTERNAL'],
    [undefined, 500, 'ERR_INTERNAL'],
  ])('reports %s and responds with %i and %s only', async (error, status, code) => {
    const hub = createHub({ transport: brokenTransport(error) });
    hub.event({ type: 'a' });
    const { route, failures } = routerOf(hub);
    for (const path of ['/api/introspection', '/api/events/a']) {
      const response = await route(request(path));
      expect(response.status).toBe(status);
      expect(JSON.parse(`${response.body}`)).toEqual({ error: { code, message: expect.any(String) } });
      expect(response.body).not.toMatch(/10\.1|secret/);
    }
    expect(failures).toEqual([error, error]);
  });

  it('serves the page while the hub cannot be read', async () => {
    const hub = createHub({ transport: brokenTransport(new Error('away')) });
    expect((await routerOf(hub).route(request('/'))).status).toBe(200);
  });
});
