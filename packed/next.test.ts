import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { startNode } from '../examples/testing/start-example.js';
import { freePort } from '../scripts/listen-locally.js';
import { getDashboardHtml } from '../server/dashboard/index.js';
import { createConsumerProject } from './consumer-project.js';

const example = fileURLToPath(new URL('../examples/next', import.meta.url));

test('a Next application serves the dashboard of its hub', async () => {
  const project = await createConsumerProject();
  onTestFinished(() => project.remove());
  const sources = (path: string): boolean => !/\/(node_modules|\.next)$/.test(path);
  await cp(example, project.folder, { recursive: true, filter: sources });
  await project.install();
  await project.run('npm', 'run', 'build');

  const port = await freePort();
  const next = join(project.folder, 'node_modules/next/dist/bin/next');
  const args = [next, 'start', '--hostname', '127.0.0.1', '--port', String(port)];
  const application = startNode(args, {
    cwd: project.folder,
    env: { DASHBOARD_PASSWORD: 'teapots', NEXT_MANUAL_SIG_HANDLE: 'true', NEXT_TELEMETRY_DISABLED: '1' },
  });
  const url = await application.url;
  await expect.poll(() => fetch(url).then(({ status }) => status)).toBe(200);
  const authorization = `Basic ${Buffer.from('admin:teapots').toString('base64')}`;
  const ask = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    fetch(url + path, { headers: { authorization, ...headers } });
  const refused = await fetch(`${url}/ops/hub`);
  expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
    401,
    'Basic realm="hub", charset="UTF-8"',
  ]);
  for (const encoding of ['br', 'gzip', 'identity']) {
    const page = await ask('/ops/hub', { 'accept-encoding': encoding });
    expect([page.status, (await page.text()) === getDashboardHtml()]).toEqual([200, true]);
    const introspection = await ask('/ops/hub/api/introspection', { 'accept-encoding': encoding });
    expect(await introspection.json()).toMatchObject({ events: [{ type: 'order.created' }] });
  }
  expect((await ask('/ops/hub/nothing')).status).toBe(404);
  expect((await fetch(`${url}/ops/hub`, { method: 'POST' })).status).toBe(405);

  const ordered = await fetch(`${url}/api/orders`, { method: 'POST' });
  expect(ordered.status).toBe(202);
  const received = async (): Promise<unknown> => (await ask('/ops/hub/api/events/order.created')).json();
  await expect.poll(received).toMatchObject({ received: 1, completed: 1 });
  const { exitCode, stdout } = await application.stop();
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining('Packing a teapot')]);
});
