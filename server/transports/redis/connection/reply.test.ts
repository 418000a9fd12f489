import { expect, it } from 'vitest';
import { readArray, readHash, readNumber, readString } from './reply.js';

it.each([
  [() => readArray('x'), '"x" instead of an array'],
  [() => readString(null), 'null instead of a string'],
  [() => readNumber('x'), '"x" instead of a number'],
  [() => readHash([1]), '1 instead of a string'],
])('rejects an unexpected reply: case %#', (read, message) => {
  expect(read).toThrow(expect.objectContaining({ code: 'ERR_UNEXPECTED_DATA' }));
  expect(read).toThrow(message);
});

it('withholds what a reply has from logs', () => {
  const thrown = expect.objectContaining({ publicMessage: expect.not.stringContaining('of a customer') });
  expect(() => readArray('words of a customer')).toThrow(thrown);
});
