import { expect, it } from 'vitest';
import { everyDueTimes } from './due-times.js';
import { type CatchUp, catchUpPosition } from './schedule.js';

const minute = 60_000;
const dueTimes = everyDueTimes(minute);

/** Due times that are claimed after the position, until now. */
function claimed(catchUp: CatchUp, position: number, now: number, graceMs: number): number[] {
  const due: number[] = [];
  let at = dueTimes.next(catchUpPosition({ dueTimes, catchUp }, position, now, graceMs));
  for (; at !== undefined && at <= now; at = dueTimes.next(at)) due.push(at / minute);
  return due;
}

it.each<[CatchUp, number[], number[]]>([
  ['last', [], []],
  ['last', [10, 10.5], []],
  ['last', [10, 15.5], [15]],
  ['last', [10, 15], [15]],
  ['all', [10, 15.5], [11, 12, 13, 14, 15]],
  ['all', [10, 10.5], []],
  ['none', [10, 15.5], []],
])('%s of what was missed within %j minutes: %j', (catchUp, [from = 0, to = 0], expected) => {
  expect(claimed(catchUp, from * minute, to * minute, 0)).toEqual(expected);
});

it('makes up for at most 1,000 due times, the newest', () => {
  const due = claimed('all', 0, 5_000 * minute, 0);
  expect([due.length, due[0], due.at(-1)]).toEqual([1_000, 4_001, 5_000]);
});

it.each<[CatchUp, number[]]>([
  ['last', [14, 15]],
  ['all', [11, 12, 13, 14, 15]],
  ['none', [14, 15]],
])('%s claims what passed within the grace period', (catchUp, expected) => {
  expect(claimed(catchUp, 10 * minute, 15.5 * minute, 2 * minute)).toEqual(expected);
});

it('claims the last due time that is older than the grace period', () => {
  expect(claimed('last', 10 * minute, 15.5 * minute, minute / 4)).toEqual([15]);
});
