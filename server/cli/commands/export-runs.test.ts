import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createHub } from '../../hub/create-hub.js';
import { createWorkflow, type HubWorkflow } from '../../hub/runs/workflow.js';
import { checkRuns } from '../../testing/check-runs.js';
import { sqliteTransport } from '../../transports/sqlite/sqlite-transport.js';
import { runInProcess } from '../in-process.fixture.js';

const codec = {
  encode: (text: string): string => Buffer.from(text).toString('base64'),
  decode: (text: string): string => Buffer.from(text, 'base64').toString(),
};

const fulfil = (step: string): HubWorkflow =>
  createWorkflow({
    name: 'fulfil',
    run: async (ctx) => {
      const { secret } = Object(ctx.input);
      await ctx.step.run(`${step} of ${secret.length}`, () => secret);
      await ctx.step.waitForEvent('go', 'go');
    },
  });

/** Leaves runs that wait in a file, and one that has ended. */
async function fileWithRuns(options: { codec?: typeof codec }): Promise<{ folder: string; file: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'hubline-export-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'hub.db');
  const hub = createHub({ transport: sqliteTransport({ file, ...options }) });
  hub.event({ type: 'go' });
  hub.workflow(fulfil('pick'));
  const short = hub.workflow(createWorkflow({ name: 'short', run: () => null }));
  await hub.start();
  await (await hub.startWorkflow(short, null)).result();
  for (const _ of [1, 2]) await hub.startWorkflow('fulfil', { secret: 'swordfish' });
  await vi.waitFor(async () => expect((await hub.waits()).suspended).toBe(2));
  await hub.stop();
  return { folder, file };
}

test.each([
  ['without a codec', {}, true],
  ['with a codec', { codec }, false],
])('exports the runs that wait, %s, to a file of its user alone', async (_, options, isReadable) => {
  const { folder, file } = await fileWithRuns(options);
  const out = join(folder, 'runs.json');
  const command = ['export', '--open', '--payload', '--file', file, '--out', out];
  expect(await runInProcess(command)).toEqual({ code: 0, stdout: `Wrote 2 runs to ${out}.\n`, stderr: '' });
  expect(statSync(out).mode & 0o777).toBe(0o600);
  const text = readFileSync(out, 'utf8');
  expect(text.includes('swordfish')).toBe(isReadable);
  const records = JSON.parse(text);
  expect(await checkRuns(fulfil('pick'), records, options)).toEqual({ checked: 2, differences: [] });
  expect(await checkRuns(fulfil('choose'), records, options)).toMatchObject({
    differences: [{ recorded: { id: 'pick of 9' } }, { requested: [{ id: 'choose of 9' }] }],
  });
  if (!isReadable)
    await expect(checkRuns(fulfil('pick'), records)).rejects.toThrow('codec of checkRuns must be that of');
  expect(await runInProcess(command)).toMatchObject({ code: 1, stderr: expect.stringContaining(`${out} exists`) });
});

test('exports one workflow, and only names of steps without --payload', async () => {
  const { folder, file } = await fileWithRuns({});
  const out = join(folder, 'runs.json');
  const command = (workflow: string) => ['export', workflow, '--open', '--json', '--file', file, '--out', out];
  expect(await runInProcess(command('nothing'))).toMatchObject({ code: 3, stdout: '' });
  const { stdout } = await runInProcess(command('fulfil'));
  expect(JSON.parse(stdout)).toEqual({ file: out, runs: 2 });
  const [record] = JSON.parse(readFileSync(out, 'utf8'));
  expect(record).toMatchObject({ workflow: 'fulfil', entries: [{ key: 'run:pick of 9' }], waits: ['event:go'] });
  expect(JSON.stringify(record)).not.toContain('swordfish');
});
