import { rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openPatiently } from '../open-patiently.fixture.js';
import { newFile } from '../stage.fixture.js';
import { type Database, moduleForThreads } from './driver.js';
import { LogCheckpoints } from './log-checkpoints.js';
import { readNumber } from './open-database.js';

interface Stage {
  readonly file: string;
  readonly database: Database;
  readonly checkpoints: LogCheckpoints;
  /** Stores a row of one page in a transaction. Returns what the next one has to wait for. */
  write(): Promise<void> | undefined;
  /** Stores rows until a condition holds, and waits as a transport does. */
  writeUntil(isReached: () => boolean): Promise<void>;
  /** Stores rows until the next transaction has to wait. */
  writeUntilFull(): Promise<Full>;
  /** Pages in the log. */
  logged(): number;
  /** Pages of the log that the file has. */
  copied(): number;
  isCopied(): boolean;
}

interface Full {
  readonly wait: Promise<void>;
}

// 16 times the pages of a log whose copying another one waits for.
const maxRows = 256_000;

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
  const write = (): Promise<void> | undefined => {
    insert.run(row);
    return checkpoints.transactionEnded();
  };
  return {
    file,
    database,
    checkpoints,
    write,
    logged: () => Number(state.get()?.['log']),
    copied: () => Number(state.get()?.['checkpointed']),
    isCopied: () => state.get()?.['log'] === state.get()?.['checkpointed'],
    async writeUntil(isReached) {
      for (let count = 0; !isReached(); count += 1) {
        expect(count).toBeLessThan(maxRows);
        await write();
        if (count % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    },
    async writeUntilFull() {
      for (let count = 0; count < maxRows; count += 1) {
        const wait = write();
        if (wait !== undefined) return { wait };
        if (count % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      throw new Error('no transaction had to wait');
    },
  };
}

async function threadModule(): Promise<string> {
  const module = await moduleForThreads();
  if (module === undefined) throw new Error('no module for threads');
  return module;
}

/** SQLite whose copies of a log end late while a file is there, as those of a disk that is slow. */
class BlockableSqlite {
  readonly #folder = dirname(newFile());
  readonly #gate = join(this.#folder, 'blocked');

  /** Returns the module for a thread. */
  async module(): Promise<string> {
    const path = join(this.#folder, 'sqlite.cjs');
    writeFileSync(
      path,
      `const { existsSync } = require('node:fs');
      const { DatabaseSync } = require(${JSON.stringify(await threadModule())});
      const cell = new Int32Array(new SharedArrayBuffer(4));
      exports.DatabaseSync = class extends DatabaseSync {
        prepare(sql) {
          const row = super.prepare(sql).get();
          while (existsSync(${JSON.stringify(this.#gate)})) Atomics.wait(cell, 0, 0, 5);
          return { get: () => row };
        }
      };`,
    );
    return path;
  }

  block(): void {
    writeFileSync(this.#gate, '');
  }

  unblock(): void {
    rmSync(this.#gate, { force: true });
  }
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
  expect(readNumber(database, 'SELECT count(*) FROM t')).toBeGreaterThan(500);
});

it('transactions wait for a thread that is slower than they are, and the log begins again', async () => {
  const sqlite = new BlockableSqlite();
  const { write, writeUntilFull, logged, isCopied } = await open(await sqlite.module());
  sqlite.block();
  onTestFinished(() => sqlite.unblock());
  for (let round = 0; round < 2; round += 1) {
    sqlite.block();
    const { wait } = await writeUntilFull();
    expect(logged()).toBeGreaterThan(16_000);
    expect(logged()).toBeLessThan(17_000);
    expect(isCopied()).toBe(false);
    sqlite.unblock();
    await wait;
    expect(isCopied()).toBe(true);
    expect(write()).toBeUndefined();
    expect(logged()).toBeLessThan(10);
  }
});

it('transactions do not wait for a reader that keeps the log from being copied', async () => {
  const { file, writeUntil, writeUntilFull, logged } = await open(await threadModule());
  const reader = await openPatiently(file);
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM t').get();
  const first = await writeUntilFull();
  const pages = logged();
  await first.wait;
  expect(logged()).toBe(pages);
  // Each wait ends though the reader is still there.
  const second = await writeUntilFull();
  expect(logged()).toBeGreaterThan(pages + 15_000);
  await second.wait;
  const size = (): number => statSync(`${file}-wal`).size;
  expect(size()).toBeGreaterThan(100_000_000);
  reader.exec('COMMIT');
  reader.close();
  await writeUntil(() => logged() < 10_000);
  // The disk gets the rest back.
  expect(size()).toBeLessThan(70_000_000);
});

it('the log begins again after a reader that kept the rest of a run from being copied', async () => {
  const sqlite = new BlockableSqlite();
  const { file, write, writeUntil, writeUntilFull, logged, copied, isCopied } = await open(await sqlite.module());
  onTestFinished(() => sqlite.unblock());
  sqlite.block();
  await writeUntil(() => logged() > 15_500);
  const reader = await openPatiently(file);
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM t').get();
  const { wait } = await writeUntilFull();
  sqlite.unblock();
  await wait;
  expect(isCopied()).toBe(false);
  reader.exec('COMMIT');
  reader.close();
  sqlite.block();
  const before = copied();
  while (logged() - before < 1_100) await write();
  await expect.poll(copied).toBeGreaterThan(before);
  for (let count = 0; count < 100; count += 1) await write();
  expect(isCopied()).toBe(false);
  sqlite.unblock();
  await expect.poll(isCopied).toBe(true);
});

it('the thread keeps the process alive while it copies, and at no other time', async () => {
  const ports = (): number => process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length;
  const before = ports();
  const sqlite = new BlockableSqlite();
  const { writeUntilFull } = await open(await sqlite.module());
  sqlite.block();
  onTestFinished(() => sqlite.unblock());
  const { wait } = await writeUntilFull();
  expect(ports()).toBe(before + 1);
  sqlite.unblock();
  await wait;
  await expect.poll(ports).toBe(before);
});

it('transactions do not wait for a thread that was closed', async () => {
  const sqlite = new BlockableSqlite();
  const { checkpoints, writeUntilFull } = await open(await sqlite.module());
  sqlite.block();
  onTestFinished(() => sqlite.unblock());
  const { wait } = await writeUntilFull();
  const closed = checkpoints.close();
  sqlite.unblock();
  await Promise.all([wait, closed]);
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
