import { expect, test } from 'vitest';
import { runCommand } from './run-command.js';

const node = (script: string, timeoutMs = 30_000): ReturnType<typeof runCommand> =>
  runCommand(process.execPath, ['-e', script], timeoutMs);

test('tells success and the last lines of both streams', async () => {
  const { ok, lastLines } = await node('for (let i = 1; i <= 20; i += 1) console.log(i); console.error("warned")');
  expect(ok).toBe(true);
  expect(lastLines).toContain('20');
  expect(lastLines).toContain('warned');
  expect(lastLines).not.toContain('12\n');
});

test('tells failure', async () => {
  expect(await node('console.error("no such package"); process.exit(100)')).toEqual({
    ok: false,
    lastLines: 'no such package',
  });
});

test('ends what takes too long', async () => {
  const { ok, lastLines } = await node('setInterval(() => {}, 1_000)', 100);
  expect(ok).toBe(false);
  expect(lastLines).toContain('ended by SIGTERM, after 100 ms at the latest');
});

test('tells that there is no such command', async () => {
  const { ok, lastLines } = await runCommand('no-such-command-here', [], 1_000);
  expect(ok).toBe(false);
  expect(lastLines).toContain('ENOENT');
});
