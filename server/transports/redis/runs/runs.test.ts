import { expect, it } from 'vitest';
import { readRun } from './stored-runs.js';

it('rejects an unknown status', () => {
  const data = JSON.stringify({ requestId: 'r', body: 'null', depth: 0, replays: 0, delayMs: 0, priority: 0 });
  const reply = ['shop/a', 'e-1', [data, 1, 1, 'paused', null, null, [], []]];
  expect(() => readRun(reply)).toThrow('"paused" instead of the status of a run');
});
