import { inspect } from 'node:util';
import { afterEach, expect, it, vi } from 'vitest';
import { FatalError } from '../errors.js';
import { createRedactor } from './redactor.js';

afterEach(() => {
  vi.restoreAllMocks();
});

it('makes a loggable error of name, message, code, frames and causes', () => {
  const cause = Object.assign(new Error('connect failed'), { command: { args: ['AUTH', 'secret'] } });
  const thrown = Object.assign(new FatalError('declined', { cause }), { transcript: 'secret' });
  const error = createRedactor().loggable(thrown);
  expect(error).toMatchObject({ name: 'FatalError', message: 'declined', code: 'ERR_FATAL' });
  expect(error.stack).toMatch(/^FatalError: declined\n {4}at .*redactor\.test\.ts/);
  expect(Object.keys(error)).toEqual(['code']);
  const text = inspect(error, { depth: 9, showHidden: true });
  expect(text).toContain('[cause]');
  expect(text).not.toContain('secret');
});

it('passes the default redaction and the thrown value to the hook', () => {
  const redact = vi.fn(({ name }: { name: string }) => ({ name, message: 'hidden', payload: 'secret' }));
  const thrown = new SyntaxError('secret');
  expect(createRedactor(redact).info(thrown)).toEqual({ name: 'SyntaxError', message: 'hidden' });
  const shown = { name: 'SyntaxError', message: 'a text could not be parsed (message withheld)' };
  expect(redact).toHaveBeenCalledWith(shown, thrown);
});

it('redacts a recorded failure and leaves its other fields', () => {
  const { recorded } = createRedactor(({ name, message }) => ({ name, message: message.replace(/\d/g, 'x') }));
  expect(recorded({ id: 'a1', name: 'Error', message: 'card 42' })).toEqual({
    id: 'a1',
    name: 'Error',
    message: 'card xx',
  });
});

it.each([
  [
    'throws',
    () => {
      throw new Error('secret');
    },
  ],
  // Untyped code may return anything.
  ['returns nothing', () => JSON.parse('null')],
  ['returns a text', () => JSON.parse('"secret"')],
])('withholds the message if the hook %s', (_, redact) => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  expect(createRedactor(redact).info(new Error('secret'))).toEqual({
    name: 'Error',
    message: 'message withheld: redact failed',
  });
  expect(String(warn.mock.lastCall?.[0])).toMatch(/^redact failed with \w+;/);
  expect(String(warn.mock.lastCall?.[0])).not.toContain('secret');
});
