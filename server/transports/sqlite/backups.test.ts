import { chmodSync, existsSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createFakeClock } from '../../testing/fake-clock.js';
import { envelope } from '../contract/envelope.js';
import { completed } from '../contract/outcome.js';
import { sqliteObserver } from './sqlite-observer.js';
import { sqliteTransport } from './sqlite-transport.js';
import { newFile, openBeside, startProcess } from './stage.fixture.js';

const subscriptions = [{ type: 'a' }];

/** Replaces the calls that wait until the disk has a file. @param sync waits in their place */
async function replaceSync(file: string, sync: () => Promise<void>): Promise<void> {
  const handle = await open(file);
  const fileHandle: { sync(): Promise<void> } = Object.getPrototypeOf(handle);
  await handle.close();
  const spy = vi.spyOn(fileHandle, 'sync').mockImplementation(sync);
  onTestFinished(() => spy.mockRestore());
}

it('copies a file while its owner continues; the copy has the state of one time and takes the place of the file', async () => {
  const file = newFile();
  const clock = createFakeClock();
  const process = await startProcess({ file, clock, synchronous: 'normal' }, subscriptions);
  const { transport, deliveries } = process;
  const body = JSON.stringify('x'.repeat(10_000));
  const count = async (): Promise<number> => (await transport.counts.metrics('a')).received;
  await transport.publish(Array.from({ length: 500 }, () => envelope('a', { body })));
  await clock.settle();
  const copy = join(dirname(file), 'copy.db');
  let isCopied = false;
  const copying = sqliteTransport({ file })
    .backup(copy)
    .then(() => {
      isCopied = true;
    });
  const [before] = [await count()];
  // At least once, so that the file changes during the copy. A slow disk takes long to copy: the log holds every change.
  for (let change = 0; change < 300 && !isCopied; change += 1) {
    await transport.publish([envelope('a', { body })]);
    await deliveries.shift()?.commit(completed());
    await new Promise((resolve) => setImmediate(resolve));
  }
  await copying;
  const after = await count();
  await transport.close({ drainMs: 0 });
  expect(readdirSync(dirname(file)).filter((name) => name.includes('partial'))).toEqual([]);
  expect((await openBeside(copy)).prepare('PRAGMA integrity_check').get()).toMatchObject({ integrity_check: 'ok' });

  for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
  renameSync(copy, file);
  const restored = await startProcess({ file, clock }, subscriptions);
  await clock.settle();
  const { received, completed: ended, pending } = await restored.transport.counts.metrics('a');
  expect(received).toBeGreaterThanOrEqual(before);
  expect(received).toBeLessThanOrEqual(after);
  expect(received).toBe(ended + pending);
  expect(restored.deliveries).toHaveLength(Math.min(pending, 100));
});

it('copies a file of another process, and one that nobody owns', async () => {
  const file = newFile();
  const process = await startProcess({ file }, subscriptions);
  await process.transport.kv.set('k', 'v');
  const copies = [join(dirname(file), 'one.db'), join(dirname(file), 'two.db')] as const;
  await sqliteObserver({ file }).backup(copies[0]);
  await process.transport.close({ drainMs: 0 });
  await sqliteTransport({ file }).backup(copies[1]);
  for (const copy of copies) {
    const restored = await startProcess({ file: copy }, subscriptions);
    expect(await restored.transport.kv.get('k')).toBe('v');
  }
});

it('replaces no file, and leaves none behind if it fails', async () => {
  const file = newFile();
  await (await startProcess({ file }, subscriptions)).transport.close({ drainMs: 0 });
  const { backup } = sqliteTransport({ file });
  const access = { code: 'ERR_FILE_ACCESS' };
  await expect(backup(file)).rejects.toMatchObject(access);
  const other = join(dirname(file), 'other.db');
  writeFileSync(other, 'precious');
  await expect(backup(other)).rejects.toMatchObject({ ...access, message: expect.stringContaining('EEXIST') });
  await expect(backup(join(dirname(file), 'missing', 'copy.db'))).rejects.toMatchObject(access);
  await expect(sqliteTransport({ file: newFile() }).backup(`${file}-copy`)).rejects.toMatchObject(access);
  expect(existsSync(`${file}-copy`)).toBe(false);
  expect(readdirSync(dirname(file)).filter((name) => name.includes('partial'))).toEqual([]);
});

it('gives the copy its name when the disk has it, and leaves nothing behind if the disk fails', async () => {
  const file = newFile();
  await (await startProcess({ file }, subscriptions)).transport.close({ drainMs: 0 });
  const folder = dirname(file);
  const copy = join(folder, 'copy.db');
  const names = (): readonly string[] => readdirSync(folder).filter((name) => name.startsWith('copy'));
  const atSync: (readonly string[])[] = [];
  let isBroken = true;
  await replaceSync(file, async () => {
    if (isBroken) throw Object.assign(new Error('disk'), { code: 'EIO' });
    atSync.push(names());
  });
  const { backup } = sqliteTransport({ file });
  const failure = { code: 'ERR_FILE_ACCESS', message: expect.stringContaining('EIO') };
  await expect(backup(copy)).rejects.toMatchObject(failure);
  expect(names()).toEqual([]);
  isBroken = false;
  await backup(copy);
  expect(atSync).toEqual([[expect.stringMatching(/^copy\.db-.+-partial$/)], expect.arrayContaining(['copy.db'])]);
  expect(names()).toEqual(['copy.db']);
});

it('lets the log of the file begin again while a slow disk takes the copy', async () => {
  const file = newFile();
  const { transport } = await startProcess({ file }, subscriptions);
  const beside = await openBeside(file);
  const copied: unknown[] = [];
  await replaceSync(file, async () => {
    await transport.kv.set('k', 'v');
    copied.push(beside.prepare('PRAGMA wal_checkpoint(RESTART)').get()?.['busy']);
  });
  await sqliteTransport({ file }).backup(join(dirname(file), 'copy.db'));
  // Once for the copy, and once for its name.
  expect(copied).toEqual([0, 0]);
});

it('makes one whole copy of two that are made at once under one name', async () => {
  const file = newFile();
  const { transport } = await startProcess({ file, synchronous: 'normal' }, subscriptions);
  const body = JSON.stringify('x'.repeat(10_000));
  await transport.publish(Array.from({ length: 500 }, () => envelope('a', { body })));
  await transport.close({ drainMs: 0 });
  const { backup } = sqliteTransport({ file });
  const copy = join(dirname(file), 'copy.db');
  const results = await Promise.allSettled([backup(copy), backup(copy), backup(copy)]);
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  for (const result of results) {
    if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'ERR_FILE_ACCESS' });
  }
  const copied = await openBeside(copy);
  expect(copied.prepare('PRAGMA integrity_check').get()).toMatchObject({ integrity_check: 'ok' });
  expect(copied.prepare('SELECT count(*) AS events FROM events').get()).toMatchObject({ events: 500 });
  expect(readdirSync(dirname(file)).filter((name) => name.includes('partial'))).toEqual([]);
});

it.each([0o600, 0o640, 0o644])('gives the copy of a file the permissions of the file: %o', async (mode) => {
  const file = newFile();
  await (await startProcess({ file }, subscriptions)).transport.close({ drainMs: 0 });
  chmodSync(file, mode);
  const copy = join(dirname(file), 'copy.db');
  await sqliteTransport({ file }).backup(copy);
  expect(statSync(copy).mode & 0o777).toBe(mode);
});
