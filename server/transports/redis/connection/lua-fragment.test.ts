import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

/** Returns the Lua of the fragments in a source file. */
function fragmentsOf(source: string): string[] {
  return [...source.matchAll(/new LuaFragment\(\s*`(.*?)`/gs)].map(([, lua = '']) => lua);
}

const root = new URL('..', import.meta.url);
const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
  .map((path) => readFileSync(new URL(path, root), 'utf8'));

it('declare names that no other fragment and no function of Lua has: scripts share them', () => {
  const declarations = sources
    .flatMap(fragmentsOf)
    .flatMap((lua) => [...lua.matchAll(/^local (?:function (\w+)|([\w, ]+?)(?: =|$))/gm)]);
  const names = declarations.flatMap(([, name, several = '']) => name ?? several.split(', '));
  expect(names.length).toBeGreaterThan(200);
  const known = ['next', 'type', 'pairs', 'ipairs', 'select', 'unpack', 'error', 'assert', 'tonumber', 'tostring'];
  const others = [...known, 'string', 'table', 'math', 'redis', 'cjson', 'cmsgpack', 'struct', 'bit', 'KEYS', 'ARGV'];
  expect([...new Set(names)].sort()).toEqual(names.filter((name) => !others.includes(name)).sort());
});

it('keep nothing from one call to the next: variables are set per call, constants never change', () => {
  const fragments = sources.flatMap(fragmentsOf);
  expect(fragments.length).toBeGreaterThan(30);
  const statements = fragments
    .flatMap((lua) => lua.split('\n'))
    .filter((line) => /^[^\s-]/.test(line) && !/^(?:do|end)$/.test(line));
  const declarations = statements.filter((line) => !/^(?:local )?function /.test(line));
  const constant = /^local \w+ = (?:'[^']*'|[\d.]+|\$\{[^}]+\}|\{ '\w+'(?:, '\w+')* \})$/;
  const variables = /^local \w+(?:, \w+)*$/;
  expect(declarations.filter((line) => !variables.test(line) && !constant.test(line))).toEqual([]);
});
