import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../', import.meta.url));

test('HUBLINE_NO_INSTALL=1 prints instructions and exits with 1 if no Redis server is found', async () => {
  // A folder without executables: neither a Redis server nor a package manager is on the PATH.
  const env = { ...process.env, PATH: root, REDIS_SERVER_PATH: '', HUBLINE_NO_INSTALL: '1' };
  const child = spawn(process.execPath, ['--import', 'tsx', 'scripts/test-env.ts'], { cwd: root, env });
  const [stdout, stderr, [exitCode]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  expect(exitCode).toBe(1);
  expect(stdout).not.toContain('Installing');
  expect(stderr).toContain('no redis-server found: install Redis 7 or Valkey (Debian: apt-get install redis-server;');
});
