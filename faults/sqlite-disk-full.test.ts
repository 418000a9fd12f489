import { once } from 'node:events';
import { join } from 'node:path';
import { createHub } from 'hubline';
import { sqliteTransport } from 'hubline/sqlite';
import { expect, it } from 'vitest';
import { readLedger } from './ledger.js';
import { drainedCounts, kill, newFolder, startOwner } from './sqlite-process.js';

it('a process whose disk is full refuses events and loses none, and the next one goes on and owns the file alone', async () => {
  const folder = newFolder();
  // No file may grow beyond 1 to 2 MB, by the blocks of the shell.
  const full = await startOwner(folder, 'fill', 0, 'ulimit -f 2000');
  await once(full, 'message');
  await kill(full);
  const next = await startOwner(folder, '', 1_000_000);
  const [work, settled] = await drainedCounts(next);
  const second = createHub({ transport: sqliteTransport({ file: join(folder, 'hub.db') }) });
  await expect(second.start()).rejects.toMatchObject({ code: 'ERR_FILE_IN_USE' });

  const ledger = readLedger(folder);
  const keysOf = (what: string): string[] => ledger.filter((entry) => entry.what === what).map(({ key }) => key);
  const accepted = keysOf('accepted');
  const refused = keysOf('refused ERR_TRANSPORT_UNAVAILABLE');
  const ended = new Set(ledger.filter(({ what }) => what.startsWith('settled')).map(({ key }) => key));
  expect(accepted.length).toBeGreaterThan(10);
  expect(refused).toHaveLength(1);
  expect(accepted.filter((key) => !ended.has(key))).toEqual([]);
  expect(work?.[0]).toBe(ended.size);
  expect(settled?.slice(0, 2)).toEqual([ended.size, ended.size]);
});
