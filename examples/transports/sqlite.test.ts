import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHub, type Hub } from 'hubline';
import { sqliteTransport } from 'hubline/sqlite';
import { expect, onTestFinished, test, vi } from 'vitest';
import { freePort } from '../../scripts/listen-locally.js';
import { startExample } from '../testing/start-example.js';

test('an accepted event survives kill -9', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hubline-example-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const env = { HUB_FILE: join(folder, 'hub.db') };
  const first = startExample('transports/sqlite.ts', { env });
  await first.printed('accepted');
  const killed = await first.stop('SIGKILL');

  const second = startExample('transports/sqlite.ts', { env });
  await second.printed('accepted');
  const end = await second.stop();
  expect([end.exitCode, end.stderr]).toEqual([0, '']);
  // Its own event, and the one of the process that was killed: on a machine that stalls, that one may have begun before.
  const handled = `${killed.stdout}${end.stdout}`.match(/Hello, Ada!/g) ?? [];
  expect(handled.length).toBeGreaterThanOrEqual(2);
});

test('the dashboard of another process shows the file while a process owns it, and afterwards', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hubline-example-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'hub.db');
  const hub = createHub({ service: 'shop', transport: sqliteTransport({ file }) });
  hub.event({ type: 'greeted', handler: () => {} });
  await hub.start();
  const env = { HUB_FILE: file, PORT: String(await freePort()) };
  const dashboard = startExample('transports/sqlite-dashboard.ts', { env });
  const url = await dashboard.url;
  const shown = async (): Promise<unknown> => (await fetch(`${url}api/introspection`)).json();
  await hub.emit('greeted', {}, { delayMs: 600_000 });
  expect(await shown()).toMatchObject({ events: [{ type: 'greeted', processes: 1, metrics: { pending: 1 } }] });
  await hub.stop({ drainMs: 0 });
  await vi.waitFor(
    async () =>
      expect(await shown()).toMatchObject({ events: [{ type: 'greeted', processes: 0, metrics: { pending: 1 } }] }),
    { timeout: 20_000, interval: 200 },
  );
  const { exitCode, stderr } = await dashboard.stop();
  expect([exitCode, stderr]).toEqual([0, '']);
});

test('a copy that was made while a hub used the file takes its place, with the same counts', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hubline-example-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'hub.db');
  vi.stubEnv('HUB_FILE', file);
  const { backUp } = await import('./sqlite-backup.js');
  vi.unstubAllEnvs();
  const start = async (): Promise<Hub> => {
    const hub = createHub({ service: 'shop', transport: sqliteTransport({ file }) });
    hub.event({ type: 'greeted', handler: () => {} });
    await hub.start();
    return hub;
  };
  const first = await start();
  await first.emit('greeted', {}, { delayMs: 600_000 });
  const copy = await backUp(folder);
  await first.emit('greeted', {}, { delayMs: 600_000 });
  await first.stop({ drainMs: 0 });
  for (const name of readdirSync(folder)) if (name.startsWith('hub.db')) rmSync(join(folder, name));
  copyFileSync(copy, file);
  const second = await start();
  expect(await second.metrics('greeted')).toMatchObject({ received: 1, pending: 1 });
  await second.stop({ drainMs: 0 });
});
