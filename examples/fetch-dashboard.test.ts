import { expect, test, vi } from 'vitest';

test('a route of the Fetch API serves the dashboard to those who may see it', async () => {
  vi.stubEnv('OPS_TOKEN', 'open sesame');
  const { GET } = await import('./fetch-dashboard.js');
  const url = 'https://shop.example/ops/hub';
  const refused = await GET(new Request(url));
  expect([refused.status, refused.headers.get('location')]).toEqual([302, 'https://shop.example/login']);
  const headers = { authorization: 'Bearer open sesame' };
  const page = await GET(new Request(url, { headers }));
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  const body: unknown = await (await GET(new Request(`${url}/api/introspection`, { headers }))).json();
  expect(body).toMatchObject({ events: [{ type: 'order.created' }] });
});
