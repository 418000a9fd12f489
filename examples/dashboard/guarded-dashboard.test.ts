import { expect, test } from 'vitest';
import { freePort } from '../../scripts/listen-locally.js';
import { startExample } from '../testing/start-example.js';

const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

test('only the password grants access', async () => {
  const env = { PORT: String(await freePort()), DASHBOARD_PASSWORD: 'pass: wörd' };
  const example = startExample('dashboard/guarded-dashboard.ts', { env });
  const url = await example.url;
  const ask = async (path: string, authorization?: string): Promise<Response> =>
    fetch(url + path, authorization === undefined ? {} : { headers: { authorization } });

  for (const path of ['', 'api/introspection', 'api/events/order.created']) {
    expect((await ask(path, basic('admin', 'pass: wörd'))).status).toBe(200);
    const refused = await ask(path);
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
      401,
      'Basic realm="hub", charset="UTF-8"',
    ]);
    expect((await ask(path, basic('admin', 'pass: word'))).status).toBe(401);
    expect((await ask(path, basic('root', 'pass: wörd'))).status).toBe(401);
  }
  expect((await example.stop()).exitCode).toBe(0);
});

test('does not start without a password', async () => {
  const { exitCode, stderr } = await startExample('dashboard/guarded-dashboard.ts', { env: { DASHBOARD_PASSWORD: '' } })
    .ended;
  expect(exitCode).not.toBe(0);
  expect(stderr).toContain('password of basicAuth must be a text, not empty');
});
