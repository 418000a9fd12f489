import { expect, it } from 'vitest';
import { readCheckpoints, readRun } from './runs.js';

it('reads checkpoints in the order of their creation', () => {
  const hash = new Map([
    ['b', '10 "x y"'],
    ['a', '2 1'],
  ]);
  expect([...readCheckpoints(hash)]).toEqual([
    ['a', '1'],
    ['b', '"x y"'],
  ]);
});

it('rejects an unknown status', () => {
  const data = JSON.stringify({ requestId: 'r', body: 'null', depth: 0, replays: 0, delayMs: 0, priority: 0 });
  const reply = ['shop/a', 'e-1', [data, 1, 1, 'paused', null, null, []]];
  expect(() => readRun(reply)).toThrow('"paused" instead of the status of a run');
});
