import { expect, test } from 'vitest';
import type { EventOverview } from '../../server/dashboard/protocol.js';
import { countsOf, eventOf, periodOf, recentOf, SERVER_NOW } from '../testing/test-data.js';
import { backlogText } from './backlog.js';

/** Returns a type with these events per minute in and out, over 5 minutes, and waiting ones. */
function backlog(
  waiting: number,
  perMinuteIn: number,
  perMinuteOut: number,
  rest: Partial<EventOverview> = {},
): EventOverview {
  const period = periodOf(perMinuteOut * 5, 0, { received: perMinuteIn * 5 });
  return eventOf('a', countsOf(1, 0, { pending: waiting + 1, active: 1 }), { recent: recentOf(period), ...rest });
}

test.each<[string | null, EventOverview]>([
  [null, backlog(9, 14, 5)],
  ['120 wait · in 14/min, out 5/min: grows by 9/min', backlog(120, 14, 5)],
  ['120 wait · in 2/min, out 5/min: empty in about 40 min', backlog(120, 2, 5)],
  ['10 wait · in 0/min, out 30/min: empty in about 20 s', backlog(10, 0, 30)],
  ['10 wait · in 0/min, out 0/min: stays · no process handles it', backlog(10, 0, 0, { processes: 0 })],
  ['50 wait · in 14/min, out 5/min: grows by 9/min · its only slot is taken', backlog(50, 14, 5, { concurrency: 1 })],
  [
    '50 wait · in 14/min, out 0/min: grows by 14/min · paused by ann',
    backlog(50, 14, 0, { paused: { by: 'ann', reason: 'x', since: 1 } }),
  ],
])('%s', (expected, event) => {
  expect(backlogText(event, SERVER_NOW)).toBe(expected);
});
