import { expect, test } from 'vitest';
import { runCommand } from './run-command.js';

const node = (script: string, timeoutMs = 30_000): ReturnType<typeof runCommand> =>
  runCommand(process.execPath, ['-e', script], timeoutMs);

test('returns success and the last lines', async () => {
  const end = await node('for (let i = 1; i <= 20; i += 1) console.log(i)');
  expect(end).toEqual({ ok: true, lastLines: '16\n17\n18\n19\n20' });
});

test('returns the lines of both streams', async () => {
  const { lastLines } = await node('console.log("printed"); console.error("warned")');
  expect(lastLines.split('\n').toSorted()).toEqual(['printed', 'warned']);
});

test('returns failure', async () => {
  expect(await node('console.error("no such package"); process.exit(100)')).toEqual({
    ok: false,
    lastLines: 'no such package',
  });
});

test('kills a command that takes too long', async () => {
  const { ok, lastLines } = await node('setInterval(() => {}, 1_000)', 100);
  expect(ok).toBe(false);
  expect(lastLines).toContain('killed by SIGTERM: time limit 100 ms');
});

test('returns failure for an unknown command', async () => {
  const { ok, lastLines } = await runCommand('no-such-command-here', [], 1_000);
  expect(ok).toBe(false);
  expect(lastLines).toContain('ENOENT');
});
