import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHub } from 'hubline';
import { sqliteTransport } from 'hubline/sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { readLedger } from '../workers/ledger.js';
import { newFolder, type Owner, startOwner } from './sqlite-process.js';

/** Disk with little space for the file of a process. */
interface SmallDisk {
  readonly folder: string;
  /** Shell command that limits the process. */
  readonly limit: string;
  /** Makes space. @param owner the limited process if it still runs */
  extend(owner?: Owner): void;
}

/** Mounts a disk with 2 MB of space; without the right to mount, limits the size of each file. */
function smallDisk(folder: string): SmallDisk {
  const mounted = join(folder, 'disk');
  mkdirSync(mounted);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=18m', 'tmpfs', mounted]).status === 0) {
    onTestFinished(() => void spawnSync('umount', ['-l', mounted]));
    // Its removal leaves space for the log of all later changes, which is emptied every 4 MB.
    const ballast = join(mounted, 'ballast');
    writeFileSync(ballast, Buffer.alloc(16 * 1024 * 1024));
    return { folder: mounted, limit: ':', extend: () => rmSync(ballast) };
  }
  return {
    folder: mounted,
    // 1 to 2 MB, by the blocks of the shell.
    limit: 'ulimit -S -f 2000',
    extend(owner) {
      // A later process has no limit.
      if (owner !== undefined) execFileSync('prlimit', ['--pid', String(owner.pid), '--fsize=unlimited']);
    },
  };
}

it('a process whose disk is full refuses events and loses none, continues with more space, and the next one too', async () => {
  const folder = newFolder();
  const disk = smallDisk(folder);
  const owner = await startOwner(folder, 'fill', 0, disk.limit, disk.folder);
  await owner.sent('full');
  const second = createHub({ transport: sqliteTransport({ file: join(disk.folder, 'hub.db') }) });
  await expect(second.start()).rejects.toMatchObject({ code: 'ERR_FILE_IN_USE' });
  disk.extend(owner);
  await owner.sent('space');
  const counts = await owner.drainedCounts();
  expectNothingLost(folder, counts);
  await owner.end();
  const next = await startOwner(folder, '', 1_000_000, ':', disk.folder);
  expect(await next.drainedCounts()).toEqual(counts);
});

it('a process that is killed while its disk is full leaves what it accepted', async () => {
  const folder = newFolder();
  const disk = smallDisk(folder);
  const owner = await startOwner(folder, 'fill', 0, disk.limit, disk.folder);
  await owner.sent('full');
  await owner.end();
  disk.extend();
  const next = await startOwner(folder, '', 1_000_000, ':', disk.folder);
  expectNothingLost(folder, await next.drainedCounts());
});

function expectNothingLost(folder: string, [work, settled]: readonly (readonly number[])[]): void {
  const ledger = readLedger(folder);
  const keysOf = (what: string): string[] => ledger.filter((entry) => entry.what === what).map(({ key }) => key);
  const accepted = keysOf('accepted');
  const ended = new Set(ledger.filter(({ what }) => what.startsWith('settled')).map(({ key }) => key));
  expect(accepted.length).toBeGreaterThan(10);
  expect(keysOf('refused ERR_TRANSPORT_UNAVAILABLE').length).toBeGreaterThan(0);
  expect(ledger.filter(({ what }) => what.startsWith('refused')).map(({ what }) => what)).not.toContain('refused ');
  expect(accepted.filter((key) => !ended.has(key))).toEqual([]);
  expect(work?.[0]).toBe(ended.size);
  expect(settled?.slice(0, 2)).toEqual([ended.size, ended.size]);
}
