import { expect, it } from 'vitest';
import { luaConstants } from '../../server/transports/redis/lua-constants.js';
import { readLua } from './build-lua.js';
import { composeLibrary, type LuaConstants } from './lua-library.js';

const header = '--[[\nTests.\n\nKEYS[1]  a key\nARGV     nothing\nReply    a number\nAccess   reads\n]]\n';
const one = 'local one = 1\n';
const command = `${header}--- @include "./one.lua"\n\nreturn one\n`;
const files = { 'one.lua': one, 'test.lua': command };

const compose = (texts: Readonly<Record<string, string>>, constants: LuaConstants = {}) =>
  composeLibrary('test', new Map(Object.entries(texts)), constants);

it('has a function per command, and a name that changes with its text', () => {
  const { name, functions, lua } = compose(files);
  const hash = name.replace('hubline_test_', '');
  expect(hash).toMatch(/^[0-9a-f]{16}$/);
  expect(functions).toEqual({ test: `hubline_test_${hash}` });
  expect(lua.split('\n')).toEqual([
    `#!lua name=${name}`,
    'do',
    'local one = 1',
    'local function run(KEYS, ARGV)',
    'return one',
    'end',
    `redis.register_function{ function_name = 'hubline_test_${hash}', callback = run, flags = { 'no-writes' } }`,
    'end',
    '',
  ]);
  expect(compose({ ...files, 'one.lua': 'local one = 2\n' }).name).not.toBe(name);
});

it('runs the part of a file below its marker with each call, after those of its includes', () => {
  const part = '--- @include "./one.lua"\n\nlocal two\n\n--- @per-call\ntwo = one + 1\n';
  const { lua } = compose({
    'one.lua': one,
    'two.lua': part,
    'test.lua': `${header}--- @include "./two.lua"\nreturn two\n`,
  });
  expect(lua).toContain('local one = 1\nlocal two\nlocal function run(KEYS, ARGV)\ntwo = one + 1\nreturn two\nend');
});

it('writes numbers, texts and tables in place of constants', () => {
  const text = `${header}return constants.count + #constants.text + #constants.quoted + #constants.names.a\n`;
  const constants = { count: 3, text: 'plain', quoted: `it's`, names: { a: 'b' } };
  const { lua } = compose({ 'test.lua': text }, constants);
  expect(lua).toContain(`return 3 + #'plain' + #[=[it's]=] + #{ a = 'b' }.a`);
});

const defects: Record<string, [texts: Readonly<Record<string, string>>, message: string | RegExp]> = {
  'text that is no Lua': [{ 'one.lua': 'local = 1' }, /^one\.lua: \[1:6\] <name> expected/],
  'a header without a field': [{ 'test.lua': command.replace(/Reply.*\n/, '') }, 'test.lua: the header has no Reply'],
  'an access that does not exist': [
    { ...files, 'test.lua': command.replace('reads', 'writes') },
    'test.lua: Access is "writes" instead of one of reads, stores, works',
  ],
  'an include that does not exist': [{ 'test.lua': command }, 'test.lua: one.lua is no part'],
  'an include that is not used': [
    {
      'one.lua': `${one}local used = one\n`.replace('= one', '= 2'),
      'test.lua': command.replace('return one', 'return 1'),
    },
    'test.lua: uses nothing of one.lua',
  ],
  'a name that nothing declares': [
    { ...files, 'test.lua': command.replace('return one', 'return one + two') },
    'test.lua:11: two is not declared here or in an included part',
  ],
  'a name of a part that is not included': [
    { ...files, 'two.lua': 'local two = one\n', 'other.lua': `${header}--- @include "./two.lua"\nreturn two\n` },
    'two.lua:1: one is not declared here or in an included part',
  ],
  'a local name that is not used': [
    { ...files, 'test.lua': command.replace('return one', 'local rest = 2\nreturn one') },
    'test.lua:11: rest is not used',
  ],
  'a parameter that is not used': [
    { ...files, 'one.lua': 'local function one(rest) return 1 end\n' },
    'one.lua:1: rest is not used',
  ],
  'a function of a part that nothing calls': [
    { ...files, 'one.lua': `${one}local function two() return 2 end\n` },
    'one.lua:2: two is not used',
  ],
  'a name that two parts declare': [{ ...files, 'two.lua': one }, 'two.lua:1: one is also declared by one.lua'],
  'a name of Lua': [{ ...files, 'two.lua': 'local table = 1\n' }, 'two.lua:1: table is also declared by Lua'],
  'a value of a call that is kept for the next one': [
    { ...files, 'one.lua': 'local one = redis.call("TIME")\n' },
    'one.lua:1: belongs below --- @per-call',
  ],
  'a part of a higher folder': [
    { 'one.lua': one, 'jobs/test.lua': command.replace('./one', '../one') },
    'jobs/test.lua: one.lua stands in a higher folder',
  ],
  'parts that include each other': [
    {
      ...files,
      'one.lua': '--- @include "./two.lua"\nlocal function one() return two end\n',
      'two.lua': '--- @include "./one.lua"\nlocal function two() return one end\n',
    },
    'one.lua: two.lua includes this file',
  ],
  'two commands of one name': [
    { ...files, 'jobs/test.lua': `${header}return 1\n` },
    'test.lua: jobs/test.lua has the same name',
  ],
  'a constant that does not exist': [
    { ...files, 'test.lua': command.replace('one\n', 'one + constants.two\n') },
    'test.lua: there is no constants.two',
  ],
};

it.each(Object.entries(defects))('rejects %s', (_, [texts, message]) => {
  expect(() => compose(texts)).toThrow(message);
});

const partOf = (name: string, names: number): string => {
  const functions = Array.from({ length: names - 1 }, (_, index) => `local function ${name}${index}() end\n`);
  return `${functions.join('')}local function ${name}() ${functions.map((_, index) => `${name}${index}()`).join(' ')} end\n`;
};
const commandOf = (name: string): string => `${header}--- @include "./${name}.lua"\n\nreturn ${name}()\n`;
const withParts = (a: number, b: number) => ({
  'a.lua': partOf('a', a),
  'b.lua': partOf('b', b),
  ...{
    'first.lua': commandOf('a'),
    'second.lua': commandOf('a'),
    'third.lua': commandOf('b'),
    'fourth.lua': commandOf('b'),
  },
});

it.each([
  [100, 99, 1],
  [100, 100, 2],
])('parts of %d and %d names stand %d times: Lua has 200 names', (a, b, times) => {
  expect(compose(withParts(a, b)).lua.split('local function a()')).toHaveLength(times + 1);
});

it('rejects a command with more names than Lua has', () => {
  expect(() => compose(withParts(200, 1))).toThrow('first.lua: declares more than 200 names');
});

it('rejects a constant that no Lua uses', () => {
  expect(() => compose(files, { two: 2 })).toThrow('no Lua uses constants.two');
});

it('publishes with at most 15 files', () => {
  const texts = readLua();
  composeLibrary('scripts', texts, luaConstants);
  const reached = new Set<string>();
  const visit = (path: string): void => {
    if (reached.has(path)) return;
    reached.add(path);
    for (const [, include = ''] of (texts.get(path) ?? '').matchAll(/^--- @include "(.+)"$/gm)) {
      visit(new URL(include, `file:///${path}`).pathname.slice(1));
    }
  };
  visit('events/publish.lua');
  expect([...reached].filter((path) => !texts.has(path))).toEqual([]);
  expect(reached.size).toBeLessThanOrEqual(15);
});
