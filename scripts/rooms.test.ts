import { expect, test } from 'vitest';
import { mutualFolders } from './rooms.js';

test.each<[string, readonly (readonly [from: string, to: string])[], readonly string[]]>([
  ['one way', [['server/a/x.ts', 'server/b/y.js']], []],
  [
    'siblings that import each other',
    [
      ['server/a/x.ts', 'server/b/y.js'],
      ['server/b/z.ts', 'server/a/w.js'],
    ],
    ['server/a <-> server/b: server/a/x.ts imports server/b/y.js, and server/b/z.ts imports server/a/w.js'],
  ],
  [
    'files deep in siblings',
    [
      ['server/r/a/deep/x.ts', 'server/r/b/y.js'],
      ['server/r/b/low/y.ts', 'server/r/a/x.js'],
    ],
    [
      'server/r/a <-> server/r/b: server/r/a/deep/x.ts imports server/r/b/y.js, and server/r/b/low/y.ts imports server/r/a/x.js',
    ],
  ],
  [
    'a parent and its child',
    [
      ['server/a/x.ts', 'server/a/b/y.js'],
      ['server/a/b/y.ts', 'server/a/x.js'],
    ],
    [],
  ],
])('%s', (_, imports, expected) => {
  expect(mutualFolders(imports.map(([from, to]) => ({ from, to })))).toEqual(expected);
});
