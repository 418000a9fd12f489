import { chmodSync, mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { InvalidOptionError } from '../../errors.js';
import { silentLogger, type TransportManager } from '../transport.js';
import { isSafeSqlite, packageFor } from './database/driver.js';
import { migrations } from './database/schema.js';
import { openPatiently } from './open-patiently.fixture.js';
import { sqliteTransport } from './sqlite-transport.js';
import { newFile, openBeside, startProcess } from './stage.fixture.js';

function connect(file: string): TransportManager {
  return sqliteTransport({ file }).connect({ service: 'shop', logger: silentLogger });
}

async function failureOf(file: string): Promise<unknown> {
  const transport = connect(file);
  try {
    await transport.counts.get([]);
    await transport.close({ drainMs: 0 });
    return 'opened';
  } catch (error) {
    return error;
  }
}

it('lets one transport own a file, by any path, until its last connection closes', async () => {
  const file = newFile();
  const link = join(dirname(file), 'link.db');
  symlinkSync(file, link);
  const owner = connect(file);
  await owner.kv.set('k', 'v');
  for (const path of [file, link]) expect(await failureOf(path)).toMatchObject({ code: 'ERR_FILE_IN_USE' });
  await owner.close({ drainMs: 0 });
  const next = connect(link);
  expect(await next.kv.get('k')).toBe('v');
  await next.close({ drainMs: 0 });
});

it('lets a file be read beside its owner', async () => {
  const file = newFile();
  const owner = connect(file);
  await owner.kv.set('k', 'v');
  const reader = await openPatiently(file, { readOnly: true });
  expect(reader.prepare('SELECT value FROM key_values WHERE key = ?').all('k')).toMatchObject([{ value: 'v' }]);
  reader.close();
  await owner.close({ drainMs: 0 });
});

it('refuses a file that another application wrote, and one of a later version', async () => {
  const file = newFile();
  const database = await openBeside(file);
  database.exec('CREATE TABLE t (a)');
  expect(await failureOf(file)).toMatchObject({
    code: 'ERR_CORRUPT_FILE',
    message: expect.stringContaining('another application'),
  });
  const other = newFile();
  await connect(other).close({ drainMs: 0 });
  const { transport } = await startProcess({ file: other }, []);
  await transport.close({ drainMs: 0 });
  const newer = await openBeside(other);
  newer.exec(`PRAGMA user_version = ${migrations.length + 1}`);
  expect(await failureOf(other)).toMatchObject({
    code: 'ERR_NEWER_FILE',
    message: expect.stringContaining(`schema version ${migrations.length + 1}`),
  });
});

it('refuses a damaged file', async () => {
  const text = newFile();
  writeFileSync(text, 'this is not a database, and long enough to be read as the header of one'.repeat(10));
  expect(await failureOf(text)).toMatchObject({ code: 'ERR_CORRUPT_FILE' });
  const file = newFile();
  const owner = connect(file);
  for (let i = 0; i < 100; i += 1) await owner.kv.set(`key ${i}`, 'x'.repeat(1_000));
  await owner.close({ drainMs: 0 });
  const whole = readFileSync(file);
  truncateSync(file, Math.floor(whole.length / 2));
  const cut = { code: 'ERR_CORRUPT_FILE', message: expect.stringContaining('its end is missing; restore a backup') };
  expect(await failureOf(file)).toMatchObject(cut);
  writeFileSync(file, whole);
  expect(await failureOf(file)).toBe('opened');
});

it.each([
  ['failures', `UPDATE queues SET failures = '{"secret":1}'`],
  ['counts', `INSERT INTO counted_minutes VALUES ('a', 1, '{"counts":[],"wait":[1,1e999],"duration":[]}')`],
])('refuses %s that it did not write, without showing them', async (column, change) => {
  const file = newFile();
  const { transport } = await startProcess({ file }, [{ type: 'a' }]);
  await transport.close({ drainMs: 0 });
  const database = await openBeside(file);
  database.exec(change);
  const error = await failureOf(file);
  expect(error).toMatchObject({ code: 'ERR_CORRUPT_FILE', message: expect.stringContaining(column) });
  expect(String(error)).not.toContain('secret');
});

it('refuses a folder that does not exist or cannot be written', async () => {
  const folder = dirname(newFile());
  expect(await failureOf(join(folder, 'missing', 'hub.db'))).toMatchObject({ code: 'ERR_FILE_ACCESS' });
  const readOnly = join(folder, 'read-only');
  mkdirSync(readOnly);
  // The lock of a path is beside it.
  expect(await failureOf(readOnly)).toMatchObject({ code: 'ERR_FILE_ACCESS' });
  chmodSync(readOnly, 0o500);
  // The superuser writes there all the same, but in no folder of the kernel.
  const denied = process.getuid?.() === 0 ? '/proc' : readOnly;
  expect(await failureOf(join(denied, 'hub.db'))).toMatchObject({ code: 'ERR_FILE_ACCESS' });
});

it('opens a file again after a failure', async () => {
  const file = newFile();
  const owner = connect(file);
  await owner.counts.get([]);
  const second = connect(file);
  await expect(second.counts.get([])).rejects.toMatchObject({ code: 'ERR_FILE_IN_USE' });
  await owner.close({ drainMs: 0 });
  expect(await second.counts.get([])).toEqual([]);
  await second.close({ drainMs: 0 });
});

it.each([
  ['3.44.5', false],
  ['3.44.6', true],
  ['3.46.1', false],
  ['3.50.6', false],
  ['3.50.7', true],
  ['3.51.2', false],
  ['3.51.3', true],
  ['3.52.0', true],
  ['4.0.0', true],
])('tells whether SQLite %s resets its log safely: %s', (version, isSafe) => {
  expect(isSafeSqlite(version)).toBe(isSafe);
});

it.each([
  ['20.20.2', '@photostructure/sqlite@1.2'],
  ['22.0.0', '@photostructure/sqlite@2'],
  ['26.1.0', '@photostructure/sqlite@2'],
])('on Node %s, names %s to be installed', (node, name) => {
  expect(packageFor(node)).toBe(name);
});

it.each([
  [{ file: '' }, 'file'],
  [{ file: ':memory:' }, 'file'],
  [{ file: 7 as never }, 'file'],
  [{ file: 'a.db', synchronous: 'off' as never }, 'synchronous'],
  [{ file: 'a.db', maxPending: 0 }, 'maxPending'],
  [{ file: 'a.db', maxDeadLetters: -1 }, 'maxDeadLetters'],
  [{ file: 'a.db', maxDeadLetterAgeMs: 0 }, 'maxDeadLetterAgeMs'],
  [{ file: 'a.db', retries: 1 } as never, 'retries'],
])('refuses the options %j', (options, named) => {
  expect(() => sqliteTransport(options)).toThrow(InvalidOptionError);
  expect(() => sqliteTransport(options)).toThrow(named);
});
