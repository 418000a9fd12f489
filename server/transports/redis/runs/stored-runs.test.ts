import { expect, it } from 'vitest';
import { splitCheckpoint } from '../jobs/event-codec.js';
import { readCheckpoints } from './stored-runs.js';

const plain = '{"durationMs":1}';
const withOutput = '{"durationMs":1,"output":{"large":[1,2]}}';

it('reads checkpoints in the order of their creation', () => {
  const stored = new Map([
    ['b', `10 3 "x y"`],
    ['a', `2 1 ${plain}`],
  ]);
  expect([...readCheckpoints(stored, new Map())]).toEqual([
    ['a', plain],
    ['b', '"x y"'],
  ]);
});

it.each([plain, withOutput, 'null', '1'])('joins what it has divided: %s', (value) => {
  const [shown, output] = splitCheckpoint(value);
  const outputs = new Map(output === '' ? [] : [['a', output]]);
  expect(readCheckpoints(new Map([['a', `0 1 ${shown}`]]), outputs).get('a')).toBe(value);
});

it('leaves out outputs, and stays valid JSON', () => {
  const [shown] = splitCheckpoint(withOutput);
  expect(JSON.parse(readCheckpoints(new Map([['a', `0 1 ${shown}`]]), new Map()).get('a') ?? '')).toEqual({
    durationMs: 1,
    output: null,
  });
});
