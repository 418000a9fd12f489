import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startExample } from './testing/start-example.js';

test('an accepted event survives kill -9', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hubline-example-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const env = { HUB_FILE: join(folder, 'hub.db') };
  const first = startExample('sqlite.ts', { env });
  await first.printed('accepted');
  const { stdout } = await first.stop('SIGKILL');
  expect(stdout).toBe('accepted\n');

  const second = startExample('sqlite.ts', { env });
  await second.printed('accepted');
  const end = await second.stop();
  expect([end.exitCode, end.stderr]).toEqual([0, '']);
  // Its own event, and the one of the process that was killed.
  expect(end.stdout.match(/Hello, Ada!/g)).toHaveLength(2);
});
