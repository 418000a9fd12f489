import { describe, expect, it } from 'vitest';
import { errorInfo, FatalError, HubError, quote } from './errors.js';
import { SchemaValidationError } from './hub/errors.js';

describe('HubError', () => {
  it('has the class name, a code and the cause', () => {
    const cause = new Error('below');
    const error = new FatalError('declined', { cause });
    expect(error).toBeInstanceOf(HubError);
    expect(error).toMatchObject({ name: 'FatalError', code: 'ERR_FATAL', message: 'declined', cause });
  });

  it('lists at most five schema issues in its message', () => {
    const issues = Array.from({ length: 8 }, (_, i) => ({ path: `payload[${i}]`, message: 'is wrong' }));
    expect(new SchemaValidationError('a', issues).message).toMatch(/payload\[4\] is wrong and more$/);
  });
});

describe('errorInfo', () => {
  it.each([
    [new TypeError('no'), { name: 'TypeError', message: 'no' }],
    [Object.assign(new Error('no'), { code: 'EIO' }), { name: 'Error', message: 'no', code: 'EIO' }],
    [Object.assign(new Error('no'), { code: 5 }), { name: 'Error', message: 'no' }],
    ['text', { name: 'NonError', message: '"text"' }],
    [undefined, { name: 'NonError', message: 'undefined' }],
    [7n, { name: 'NonError', message: '7n' }],
  ])('reads %o as %j', (thrown, info) => {
    expect(errorInfo(thrown)).toEqual(info);
  });

  it('accepts an error whose getters throw', () => {
    const hostile = new Error('x');
    Object.defineProperty(hostile, 'message', {
      get() {
        throw new Error('gotcha');
      },
    });
    expect(errorInfo(hostile)).toEqual({ name: 'UnreadableError', message: 'the thrown value could not be read' });
  });

  it('cuts messages to 1,024 characters', () => {
    expect(errorInfo(new Error('x'.repeat(5_000))).message).toHaveLength(1024);
  });
});

it('quotes names on one line, escaped and cut', () => {
  expect(quote('a"b\nc')).toBe('"a\\"b\\nc"');
  expect(quote('x'.repeat(500))).toHaveLength(82);
});
