import { describe, expect, it } from 'vitest';
import { InvalidOptionError } from './errors.js';
import { checkName, isLoopbackHost, OptionChecker } from './options.js';

const check = new OptionChecker({ a: 1 }, ['a'], 'f');

describe('OptionChecker', () => {
  it.each<[string, unknown, string]>([
    ['undefined', undefined, 'options of f must be an object, got undefined'],
    ['null', null, 'options of f must be an object, got null'],
    ['unknown names', { a: 1, c: 2 }, 'option of f must be one of a, b, got "c"'],
  ])('rejects %s', (_, options, message) => {
    expect(() => new OptionChecker(options, ['a', 'b'], 'f')).toThrow(InvalidOptionError);
    expect(() => new OptionChecker(options, ['a', 'b'], 'f')).toThrow(message);
  });

  it('names the group of nested options', () => {
    expect(() => new OptionChecker(5, [], 'f', 'retry')).toThrow('retry of f must be an object, got 5');
    expect(() => new OptionChecker({ b: 1 }, ['a'], 'f', 'retry')).toThrow('option of retry of f must be one of a');
    const nested = new OptionChecker({}, ['a'], 'f', 'retry');
    expect(() => nested.count('a', 0)).toThrow('retry.a of f must be a whole number, 1 or more, got 0');
    expect(() => nested.name('a', '')).toThrow('retry.a of f must be a string of 1 to 512 characters');
  });

  it.each<[string, () => void, string]>([
    ['required', () => check.required('a', undefined), 'a of f must be set, got undefined'],
    ['count', () => check.count('a', 1.5), 'a of f must be a whole number, 1 or more, got 1.5'],
    ['count', () => check.count('a', 2 ** 60), 'a of f must be a whole number, 1 or more'],
    ['count', () => check.count('a', -3, { min: -2, max: 2 }), 'a whole number from -2 to 2, got -3'],
    ['durationMs', () => check.durationMs('a', -1), 'a of f must be milliseconds, from 0 to 1000000000000, got -1'],
    ['durationMs', () => check.durationMs('a', Number.MAX_VALUE), 'a of f must be milliseconds'],
    ['durationMs', () => check.durationMs('a', Number.NaN), 'a of f must be milliseconds'],
    ['durationMs', () => check.durationMs('a', '5'), 'a of f must be milliseconds'],
    ['boolean', () => check.boolean('a', 0), 'a of f must be true or false, got 0'],
    ['string', () => check.string('a', 5), 'a of f must be a string, got 5'],
    ['name', () => check.name('a', 'x'.repeat(513)), 'a of f must be a string of 1 to 512 characters'],
    ['function', () => check.function('a', 'x'), 'a of f must be a function, got a string'],
    ['methods', () => check.methods('a', { b() {} }, ['b', 'c']), 'a of f must be an object with the methods b, c'],
  ])('%s rejects an invalid value', (_, act, message) => {
    expect(act).toThrow(message);
  });

  it('accepts values at the bounds, and undefined', () => {
    check.count('a', 1);
    check.count('a', 2, { min: 0, max: 2 });
    check.durationMs('a', 0);
    check.durationMs('a', 1_000_000_000_000);
    check.name('a', 'x'.repeat(512));
    check.methods('a', { b() {} }, ['b']);
    check.count('a', undefined);
    check.durationMs('a', undefined);
    check.boolean('a', undefined);
    check.string('a', undefined);
    check.name('a', undefined);
    check.function('a', undefined);
    check.methods('a', undefined, ['b']);
  });
});

it.each(['', 'x'.repeat(513), 'a\nb', '\ud800', 7, undefined])('checkName rejects %j', (name) => {
  expect(() => checkName(name, 'service')).toThrow(InvalidOptionError);
});

it.each([
  ['localhost', true],
  ['LOCALHOST', true],
  ['models.localhost', true],
  ['127.0.0.1', true],
  ['127.4.5.6', true],
  ['::1', true],
  ['[::1]', true],
  ['127.example.com', false],
  ['localhost.example.com', false],
  ['mylocalhost', false],
  ['127.1', true],
  ['0x7f.0.0.2', true],
  ['localhost.', true],
  ['0:0:0:0:0:0:0:1', true],
  ['[0:0:0:0:0:0:0:1]', true],
  ['::ffff:127.0.0.1', true],
  ['::ffff:10.0.0.1', false],
  ['0.0.0.0', false],
  ['::', false],
  ['', false],
  ['localhost/x', false],
  ['localhost:80', false],
  ['user@localhost', false],
  ['::2', false],
  ['10.0.0.1', false],
])('isLoopbackHost(%j) is %j', (host, expected) => {
  expect(isLoopbackHost(host)).toBe(expected);
});
