import { expect, test } from 'vitest';
import server, { app, GET } from './fetch-dashboard.js';

test.each([
  ['Next', GET],
  ['Hono', async (request: Request) => app.fetch(request)],
  ['Bun and Deno', server.fetch],
])('a route for %s serves the dashboard to a session of an operator', async (_, ask) => {
  const url = 'https://shop.example/ops/hub';
  const get = (path: string, cookie = ''): Promise<Response> =>
    ask(new Request(url + path, cookie === '' ? {} : { headers: { cookie } }));
  for (const cookie of ['', 'session=guess']) {
    const refused = await get('', cookie);
    expect([refused.status, refused.headers.get('location')]).toEqual([303, '/login']);
    expect((await get('/api/introspection', cookie)).status).toBe(401);
  }
  const page = await get('', 'theme=dark; session=4b1f9e');
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  const body: unknown = await (await get('/api/introspection', 'session=4b1f9e')).json();
  expect(body).toMatchObject({ events: [{ type: 'order.created' }] });
});
