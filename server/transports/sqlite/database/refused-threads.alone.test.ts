import { statSync } from 'node:fs';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openPatiently } from '../open-patiently.fixture.js';
import { newFile } from '../stage.fixture.js';
import { LogCheckpoints } from './log-checkpoints.js';

// As Node does with `--permission`, or a system without room for another thread.
vi.mock('node:worker_threads', async (load) => ({
  ...(await load<typeof import('node:worker_threads')>()),
  Worker: class {
    constructor() {
      throw new Error('Access to this API has been restricted');
    }
  },
}));

it('the log begins again in a process that may not start threads', async () => {
  const file = newFile();
  const database = await openPatiently(file);
  onTestFinished(() => database.close());
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = normal');
  database.exec('CREATE TABLE t (value TEXT)');
  const checkpoints = new LogCheckpoints(database, { file, ino: statSync(file).ino, module: 'node:sqlite' });
  onTestFinished(() => checkpoints.close());
  const insert = database.prepare('INSERT INTO t VALUES (?)');
  const row = 'x'.repeat(3_500);
  for (let count = 0; count < 10_000; count += 1) {
    insert.run(row);
    expect(checkpoints.transactionEnded()).toBeUndefined();
  }
  checkpoints.copy();
  // Of 4 KiB: the log of 10,000 rows would have more than 40 MB.
  expect(statSync(`${file}-wal`).size).toBeLessThan(10_000_000);
});
