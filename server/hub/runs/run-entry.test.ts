import { expect, it } from 'vitest';
import { entryKey, readPatches, writePatches } from './run-entry.js';
import { RecordedEntries } from './run-replay.js';

it('reads the patches of the first builds, which had no version, and is read by them', () => {
  expect(readPatches('["use-carrier"]')).toEqual({ version: undefined, names: ['use-carrier'] });
  const written = writePatches({ version: 2, names: ['use-carrier', 'split'] });
  expect(readPatches(written)).toEqual({ version: 2, names: ['use-carrier', 'split'] });
  // They took each element as a name.
  expect([...JSON.parse(written)]).toEqual(expect.arrayContaining(['use-carrier', 'split']));
});

it('takes the version of the step before patches without one', () => {
  const step = entryKey({ role: 'run', generation: 0, id: 'a', attempt: 1 });
  const patches = entryKey({ role: 'patches', generation: 0, id: '1', attempt: 0 });
  const of = (value: string): RecordedEntries =>
    new RecordedEntries(
      new Map([
        [step, '{"version":1}'],
        [patches, value],
      ]),
      0,
    );
  expect(of('["use-carrier"]')).toMatchObject({ lastVersion: 1, patches: new Set(['use-carrier']) });
  expect(of(writePatches({ version: 2, names: ['use-carrier'] })).lastVersion).toBe(2);
});
