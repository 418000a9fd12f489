import { expect, it } from 'vitest';
import { resolveSqliteOptions } from '../sqlite-options.js';
import { newFile } from '../stage.fixture.js';
import { openOwned } from './open-database.js';

// Values of `PRAGMA synchronous`: with 2, each commit waits until the disk has the log.
it.each([
  ['full', 2],
  ['normal', 1],
] as const)('synchronous: %s sets the promise of each commit', async (synchronous, level) => {
  const { database, close } = await openOwned(newFile(), synchronous);
  expect(database.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: level });
  expect(database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
  await close();
});

it('waits for the disk by default', () => {
  expect(resolveSqliteOptions({ file: 'hub.db' })).toMatchObject({ synchronous: 'full' });
});
