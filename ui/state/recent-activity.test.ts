import { expect, test } from 'vitest';
import { SERVER_NOW } from '../testing/test-data.js';
import { failureRatio, ratePerSecond } from './recent-activity.js';

test.each<[number | null, number, number, number]>([
  [null, 0, 0, 0],
  [0, 9, 0, 0],
  [1, 0, 7, 0],
  [0.05, 722, 38, 0],
  [0.5, 1, 2, 1],
  [null, 0, 3, 3],
])(
  'a failure rate of %s with %i completed, %i failed, %i of them cancelled',
  (expected, completed, failed, cancelled) => {
    expect(failureRatio({ completed, failed, cancelled })).toBe(expected);
  },
);

/** Returns minutes with these counts in the previous and the current one. */
function minutesOf(previous: number, current: number) {
  return { received: [0, previous, current] };
}

const LONG_AGO = SERVER_NOW - 3_600_000;

test.each<[string, number | null, number, number, number, number | null]>([
  ['the previous minute alone at its end', 2, 120, 0, SERVER_NOW, LONG_AGO],
  ['half of each minute', 1.5, 120, 30, SERVER_NOW + 30_000, LONG_AGO],
  ['a hub that started 20 seconds ago', 3, 0, 60, SERVER_NOW + 20_000, SERVER_NOW],
  ['a hub that started in the previous minute', 1.5, 20, 40, SERVER_NOW + 30_000, SERVER_NOW - 10_000],
  ['a hub that has not started', null, 0, 0, SERVER_NOW, SERVER_NOW],
  ['an unknown start', 2, 120, 0, SERVER_NOW, null],
])('the rate of %s', (_, expected, previous, current, now, startedAt) => {
  expect(ratePerSecond(minutesOf(previous, current), now, startedAt)).toBe(expected);
});
