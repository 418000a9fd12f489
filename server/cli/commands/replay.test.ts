import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createHub } from '../../hub/create-hub.js';
import { sqliteTransport } from '../../transports/sqlite/sqlite-transport.js';
import { silentLogger } from '../../transports/transport.js';
import { Connection } from '../connection.js';
import { createStreams, runInProcess } from '../in-process.fixture.js';
import { Terminal } from '../terminal.js';
import { replay } from './dead-letters.js';

it('stops a bulk replay at an interrupt, and reports what is left', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hubline-replay-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'hub.db');
  const hub = createHub({ transport: sqliteTransport({ file }), logger: silentLogger });
  hub.event({
    type: 'order.placed',
    handler() {
      throw new Error('out of paper');
    },
  });
  await hub.start();
  await hub.emitMany('order.placed', [1, 2, 3]);
  await vi.waitFor(async () => expect((await hub.metrics('order.placed')).deadLetters).toBe(3));
  await hub.stop();

  const connection = new Connection({ file, prefix: 'hub', timeout: 60 });
  onTestFinished(() => connection.close());
  const { streams, out } = createStreams({ isTTY: true });
  const interrupted = new AbortController();
  // The progress of the first one.
  streams.stderr.once('data', () => interrupted.abort());
  const context = {
    connection,
    terminal: new Terminal(streams),
    json: false,
    via: 'cli' as const,
    signal: interrupted.signal,
  };
  await expect(replay(context, [], { type: 'order.placed', yes: true, limit: 1_000 })).rejects.toMatchObject({
    exitCode: 1,
    message: 'Interrupted: 2 of 3 not replayed.',
  });
  expect(out()).toBe('Replayed 1 of 3.\n');
  const reader = await connection.hub();
  expect(await reader.deadLetters('order.placed')).toHaveLength(2);
});

it('prints error groups, and replays the dead letters of one, whatever its type', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hubline-groups-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'hub.db');
  const hub = createHub({ transport: sqliteTransport({ file }), logger: silentLogger });
  hub.event<number>({
    type: 'order.placed',
    handler({ payload }) {
      throw payload > 2 ? new TypeError('no method') : new Error(`out of paper ${payload}`);
    },
  });
  await hub.start();
  await hub.emitMany('order.placed', [1, 2, 3]);
  await vi.waitFor(async () => expect((await hub.metrics('order.placed')).deadLetters).toBe(3));
  await hub.stop();

  const printed = await runInProcess(['errors', '--file', file]);
  expect(printed.stdout).toMatch(/^group .*\n(?:[\s\S]*\n)?\w{12} +order\.placed +2 +2 +2 .* Error: out of paper #\n/);
  const groups = JSON.parse((await runInProcess(['errors', 'order.placed', '--json', '--file', file])).stdout);
  const { id } = groups.find(({ name }: { readonly name: string }) => name === 'Error');
  const query = ['--error', id, '--file', file];
  const listed = JSON.parse((await runInProcess(['dead-letters', '--json', ...query])).stdout);
  expect(listed).toMatchObject([{ message: 'out of paper 2' }, { message: 'out of paper 1' }]);
  expect(await runInProcess(['replay', '--yes', ...query])).toMatchObject({ code: 0, stdout: 'Replayed 2 of 2.\n' });
  const left = JSON.parse((await runInProcess(['dead-letters', '--json', '--file', file])).stdout);
  expect(left).toMatchObject([{ message: 'no method' }]);
  expect((await runInProcess(['replay', '--yes', ...query])).code).toBe(3);
});
