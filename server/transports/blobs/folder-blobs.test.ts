import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { newBlobName, referencesIn, replaceReferences, toReference } from './blob-store.js';
import { folderBlobs } from './folder-blobs.js';

function newFolder(): string {
  const parent = mkdtempSync(join(tmpdir(), 'hubline-blobs-'));
  onTestFinished(() => rmSync(parent, { recursive: true }));
  return join(parent, 'blobs');
}

it('stores values in files that others cannot read', async () => {
  const folder = newFolder();
  const blobs = folderBlobs(folder);
  const name = newBlobName(0);
  expect(await blobs.get(name)).toBeUndefined();
  await blobs.delete(name);
  await blobs.put(name, Buffer.from('über'));
  expect(String(await blobs.get(name))).toBe('über');
  expect(readdirSync(folder)).toEqual([name]);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
  await blobs.delete(name);
  expect(readdirSync(folder)).toEqual([]);
});

it('leaves nothing behind if it cannot store a value', async () => {
  const folder = newFolder();
  mkdirSync(join(folder, 'taken'), { recursive: true });
  writeFileSync(join(folder, 'taken', 'file'), '');
  await expect(folderBlobs(folder).put('taken', Buffer.from('x'))).rejects.toThrow();
  expect(readdirSync(folder)).toEqual(['taken']);
  await expect(folderBlobs(join(folder, 'taken', 'file')).get('x')).rejects.toMatchObject({ code: 'ENOTDIR' });
});

it.each(['../a', 'a/b', '', '..', 'a.b', 'a\0', 'x'.repeat(129)])('refuses the name %j', async (name) => {
  const blobs = folderBlobs(newFolder());
  for (const call of [blobs.put(name, Buffer.from('x')), blobs.get(name), blobs.delete(name)]) {
    await expect(call).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' });
  }
});

it.each(['', 7, undefined])('refuses the path %j', (path) => {
  expect(() => Reflect.apply(folderBlobs, undefined, [path])).toThrow('path of folderBlobs must be');
});

it('finds references outside of strings alone, whatever the white space', () => {
  const name = newBlobName(0);
  const reference = toReference(name);
  expect(referencesIn(JSON.stringify({ a: JSON.parse(reference) }, undefined, 1))).toEqual([name]);
  expect(referencesIn(JSON.stringify(reference))).toEqual([]);
  expect(referencesIn('{"hubline:blob":"../../etc"}')).toEqual([]);
  expect(replaceReferences(`[${reference},1]`, new Map([[name, '"$&"']]))).toBe('["$&",1]');
});
