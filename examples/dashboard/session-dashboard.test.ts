import { expect, test } from 'vitest';
import { freePort } from '../../scripts/listen-locally.js';
import { startExample } from '../testing/start-example.js';

test('a session of an operator grants access, and others are redirected to the login', async () => {
  const example = startExample('dashboard/session-dashboard.ts', { env: { PORT: String(await freePort()) } });
  const url = await example.url;
  const ask = (path: string, cookie?: string): Promise<Response> =>
    fetch(url + path, { redirect: 'manual', headers: cookie === undefined ? {} : { cookie } });
  for (const cookie of [undefined, 'session=guess', 'session=']) {
    const page = await ask('', cookie);
    expect([page.status, page.headers.get('location')]).toEqual([303, '/login']);
    expect((await ask('api/introspection', cookie)).status).toBe(401);
  }
  expect((await ask('', 'theme=dark; session=4b1f9e')).status).toBe(200);
  expect((await ask('api/introspection', 'session=4b1f9e')).status).toBe(200);
  expect(await (await ask('login')).text()).toBe('Log in');
  expect((await example.stop()).exitCode).toBe(0);
});
