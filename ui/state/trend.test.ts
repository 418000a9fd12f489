import { expect, test } from 'vitest';
import { TREND_HEIGHT, trendOf } from './recent-activity.js';

/** Returns the heights of the bars in path data. */
function heights(path: string): number[] {
  return [...path.matchAll(/v-(\d+)/g)].map(([, height]) => Number(height));
}

test('the largest minute has the whole height, and a tiny one a floor', () => {
  const [trendReceived, trendFailed] = trendOf({ received: [1_000, 0, 1], failed: [0, 0, 0] });
  expect(heights(trendReceived)).toEqual([TREND_HEIGHT, 2]);
  expect(trendFailed).toBe('');
});

test('failures are the foot of a bar, one of a thousand too', () => {
  const [trendReceived, trendFailed] = trendOf({ received: [1_000, 500], failed: [1, 500] });
  expect(heights(trendFailed)).toEqual([2, TREND_HEIGHT / 2]);
  expect(heights(trendReceived)).toEqual([TREND_HEIGHT - 2]);
});

test('failures of events of an earlier minute show too', () => {
  expect(heights(trendOf({ received: [0], failed: [3] })[1])).toEqual([TREND_HEIGHT]);
});

test('columns that start at different minutes end at the current one', () => {
  const [trendReceived, trendFailed] = trendOf({ received: [4, 4, 4], failed: [1] });
  expect([...trendReceived.matchAll(/M(\d+)/g)].map(([, x]) => Number(x))).toEqual([85, 90, 95]);
  expect([...trendFailed.matchAll(/M(\d+)/g)].map(([, x]) => Number(x))).toEqual([95]);
});
