import { expect, it, onTestFinished } from 'vitest';
import { newFile } from '../stage.fixture.js';
import { type Database, loadDriver, type OpenDatabase } from './driver.js';
import { awaitLock } from './file-lock.js';

/** Locks a file without an entry in the list of this process, as another process does. */
function lockElsewhere(file: string, open: OpenDatabase): Database {
  const database = open(`${file}-lock`);
  onTestFinished(() => database.close());
  database.exec('BEGIN EXCLUSIVE');
  return database;
}

it('waits for another process that owns the file for a moment', async () => {
  const file = newFile();
  const open = await loadDriver();
  const other = lockElsewhere(file, open);
  let attempts = 0;
  const lock = await awaitLock(file, (path) => {
    attempts += 1;
    if (attempts === 2) other.exec('COMMIT');
    return open(path);
  });
  expect(attempts).toBe(2);
  await expect(awaitLock(file, open)).rejects.toMatchObject({ code: 'ERR_FILE_IN_USE' });
  lock.release();
  (await awaitLock(file, open)).release();
});

it('does not wait for ever', async () => {
  const file = newFile();
  const open = await loadDriver();
  lockElsewhere(file, open);
  let attempts = 0;
  const counting: OpenDatabase = (path) => {
    attempts += 1;
    return open(path);
  };
  await expect(awaitLock(file, counting)).rejects.toMatchObject({ code: 'ERR_FILE_IN_USE' });
  expect(attempts).toBeGreaterThan(1);
});

it('refuses another transport of this process without a look at the lock', async () => {
  const file = newFile();
  const open = await loadDriver();
  const lock = await awaitLock(file, open);
  let attempts = 0;
  const counting: OpenDatabase = (path) => {
    attempts += 1;
    return open(path);
  };
  await expect(awaitLock(file, counting)).rejects.toMatchObject({ code: 'ERR_FILE_IN_USE' });
  // To close the file would end the lock of the first transport.
  expect(attempts).toBe(0);
  lock.release();
});
