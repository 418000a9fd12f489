import { expect, it } from 'vitest';
import { matchesEtag } from './etag.js';

it.each([
  [undefined, '"a"', false],
  ['', '"a"', false],
  ['"a"', '"a"', true],
  ['W/"a"', '"a"', true],
  ['"a"', 'W/"a"', true],
  ['W/"a"', 'W/"a"', true],
  ['"b"', '"a"', false],
  ['"b", W/"a" , "c"', '"a"', true],
  ['"b","c"', '"a"', false],
  ['*', '"a"', true],
  [' * ', '"a"', true],
  ['a', '"a"', false],
  ['w/"a"', '"a"', false],
  ['"*"', '"a"', false],
  ['"x,"a""', '"a"', false],
])('If-None-Match %j matches %j: %j', (header, etag, expected) => {
  expect(matchesEtag(header, etag)).toBe(expected);
});
