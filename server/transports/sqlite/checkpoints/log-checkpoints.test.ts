import { statSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { type Database, moduleForThreads } from '../database/driver.js';
import { numberOf } from '../database/file-checks.js';
import { openPatiently } from '../open-patiently.fixture.js';
import { newFile } from '../stage.fixture.js';
import { LogCheckpoints } from './log-checkpoints.js';

interface Stage {
  readonly file: string;
  readonly database: Database;
  readonly checkpoints: LogCheckpoints;
  /** Stores rows of one page each, in a transaction each, until a condition holds. */
  writeUntil(isReached: () => boolean): Promise<void>;
  /** Pages in the log. */
  logged(): number;
  isCopied(): boolean;
}

async function open(module: string): Promise<Stage> {
  const file = newFile();
  const database = await openPatiently(file);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = normal');
  database.exec('CREATE TABLE t (value TEXT)');
  const checkpoints = new LogCheckpoints(database, { file, ino: statSync(file).ino, module });
  onTestFinished(async () => {
    await checkpoints.close();
    database.close();
  });
  const insert = database.prepare('INSERT INTO t VALUES (?)');
  const state = database.prepare('PRAGMA wal_checkpoint(NOOP)');
  const row = 'x'.repeat(3_500);
  return {
    file,
    database,
    checkpoints,
    logged: () => Number(state.get()?.['log']),
    isCopied: () => state.get()?.['log'] === state.get()?.['checkpointed'],
    async writeUntil(isReached) {
      for (let count = 0; !isReached(); count += 1) {
        insert.run(row);
        checkpoints.transactionEnded();
        if (count % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}

async function threadModule(): Promise<string> {
  const module = await moduleForThreads();
  if (module === undefined) throw new Error('no module for threads');
  return module;
}

it('another thread copies the log, which begins again, and leaves the file at the end', async () => {
  const { file, database, checkpoints, writeUntil, logged } = await open(await threadModule());
  let most = 0;
  await writeUntil(() => {
    const pages = logged();
    const hasBegunAgain = pages < most;
    most = pages;
    return hasBegunAgain;
  });
  await checkpoints.close();
  // An open transaction of another connection would keep the log from being emptied.
  expect(database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()).toMatchObject({ busy: 0 });
  expect(statSync(`${file}-wal`).size).toBe(0);
  // Each row has a page of its own, and others have the index of the table.
  expect(numberOf(database, 'SELECT count(*) FROM t')).toBeGreaterThan(500);
});

it('the log begins again if no thread can be started', async () => {
  const { writeUntil, logged } = await open('no-such-module');
  let least = Number.POSITIVE_INFINITY;
  await writeUntil(() => logged() > 900);
  await writeUntil(() => {
    least = Math.min(least, logged());
    return least < 100;
  });
});

it('a reader that keeps the log from being copied delays no transaction, and the log is copied after it', async () => {
  const { file, writeUntil, logged, isCopied } = await open('no-such-module');
  const reader = await openPatiently(file);
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM t').get();
  await writeUntil(() => logged() > 3_000);
  expect(isCopied()).toBe(false);
  reader.exec('COMMIT');
  reader.close();
  let most = 0;
  await writeUntil(() => {
    const pages = logged();
    const hasBegunAgain = pages < most;
    most = pages;
    return hasBegunAgain;
  });
});
