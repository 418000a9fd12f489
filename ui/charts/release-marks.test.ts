import { expect, test } from 'vitest';
import { lossMarks } from './release-marks.js';

test('processes that were lost within a minute share a mark', () => {
  const at = (minutes: number): number => minutes * 60_000;
  const lost = [
    { host: 'worker-3', lostAt: at(9) },
    { host: 'worker-2', lostAt: at(1) + 20_000 },
    { host: 'worker-1', lostAt: at(1) },
  ];
  expect(lossMarks(lost).map((mark) => [mark.at, mark.label])).toEqual([
    [at(1), '2 processes lost'],
    [at(9), 'worker-3 lost'],
  ]);
});
