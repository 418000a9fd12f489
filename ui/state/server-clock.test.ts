import { signal } from '@preact/signals';
import { expect, test } from 'vitest';
import { createServerClock } from './monitor.js';

const START = Date.UTC(2026, 0, 5, 12);

test('runs between responses, from the time of the last one', () => {
  const pageNow = signal(500);
  const clock = createServerClock(pageNow);
  clock.sync(START, 500);
  pageNow.value = 61_500;
  expect(clock.now.value).toBe(START + 61_000);
});

test('does not step back because times are rounded to the second', () => {
  const pageNow = signal(0);
  const clock = createServerClock(pageNow);
  const seen: number[] = [];
  // The server is 700 ms into its second when the page opens.
  for (let at = 0; at <= 10_000; at += 900) {
    pageNow.value = at;
    clock.sync(START + Math.floor((700 + at) / 1_000) * 1_000, at);
    seen.push(clock.now.value);
  }
  expect(seen).toEqual([...seen].sort((a, b) => a - b));
  expect(Math.abs((seen.at(-1) ?? 0) - (START + 700 + 9_900))).toBeLessThan(200);
});

test('follows a server whose clock is set forward or back', () => {
  const clock = createServerClock(signal(0));
  clock.sync(START, 0);
  clock.sync(START + 3_600_000, 0);
  expect(clock.now.value).toBe(START + 3_600_000);
  clock.sync(START, 0);
  expect(clock.now.value).toBe(START);
});
