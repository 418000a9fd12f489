import { expect, it, vi } from 'vitest';
import { LastRead } from './last-read.js';

it('parses a text again only if the last read had another scope or not this text', () => {
  const parse = vi.fn((text: string) => ({ text }));
  const last = new LastRead<{ text: string }>();
  const [first] = last.read(['a', 'b', 'a'], parse, 1);
  expect(parse.mock.calls).toEqual([['a'], ['b']]);
  expect(last.read(['a', 'c'], parse, 1)).toEqual([{ text: 'a' }, { text: 'c' }]);
  expect(last.read(['a'], parse, 1)[0]).toBe(first);
  expect(last.read(['b', 'a'], parse, 1)[1]).toBe(first);
  expect(last.read(['a'], parse, 2)[0]).not.toBe(first);
  expect(parse.mock.calls.flat()).toEqual(['a', 'b', 'c', 'b', 'a']);
});
