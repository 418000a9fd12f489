import { execFileSync } from 'node:child_process';
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startNode } from '../examples/testing/start-example.js';

const root = dirname(import.meta.dirname);

test('npm start serves the dashboard of the shop from a clone in which nothing was built', async () => {
  const clone = await mkdtemp(join(tmpdir(), 'hubline-clone-'));
  onTestFinished(() => rm(clone, { recursive: true, force: true }));
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  const needed = files.split('\n').filter((file) => /^(?:examples|scripts|server|ui|[^/]+\.json)(?:\/|$)/.test(file));
  for (const file of needed) await cp(join(root, file), join(clone, file));
  await symlink(join(root, 'node_modules'), join(clone, 'node_modules'), 'junction');
  const shop = startNode(['--import', 'tsx', 'scripts/start.ts', '--port', '0', '--rate', '0'], {
    cwd: clone,
    env: {},
  });
  const page = await fetch(await shop.url);
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(await shop.stop()).toMatchObject({ exitCode: 0, stderr: '' });
});
