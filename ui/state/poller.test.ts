import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { backoffMs, createPoller } from './poller.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('waits longer after each failure, up to a minute', () => {
  expect([0, 1, 2, 3, 4, 5, 6, 60].map((failures) => backoffMs(2_000, failures))).toEqual([
    2_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000,
  ]);
  expect(backoffMs(60_000, 9)).toBe(60_000);
});

test('runs once at a time and waits the interval after each run', async () => {
  const ends: ((succeeded: boolean) => void)[] = [];
  const run = vi.fn(() => new Promise<boolean>((resolve) => ends.push(resolve)));
  const poller = createPoller({ run, intervalMs: () => 2_000 });
  await vi.advanceTimersByTimeAsync(5_000);
  expect(run).toHaveBeenCalledTimes(0);

  poller.resume();
  await vi.advanceTimersByTimeAsync(30_000);
  expect(run).toHaveBeenCalledTimes(1);

  ends[0]?.(true);
  await vi.advanceTimersByTimeAsync(1_999);
  expect(run).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(run).toHaveBeenCalledTimes(2);
});

test('backs off while the server is down and returns to the interval afterwards', async () => {
  let isUp = false;
  const run = vi.fn(async () => isUp);
  createPoller({ run, intervalMs: () => 2_000 }).resume();
  await vi.advanceTimersByTimeAsync(2_000 + 4_000);
  expect(run).toHaveBeenCalledTimes(3);
  isUp = true;
  await vi.advanceTimersByTimeAsync(8_000);
  expect(run).toHaveBeenCalledTimes(4);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(run).toHaveBeenCalledTimes(5);
});

test('a refresh replaces the current run', async () => {
  const signals: AbortSignal[] = [];
  const poller = createPoller({
    run: (signal) => {
      signals.push(signal);
      return new Promise(() => {});
    },
    intervalMs: () => 2_000,
  });
  poller.resume();
  poller.refresh();
  expect(signals.map((signal) => signal.aborted)).toEqual([true, false]);
});

test('suspend aborts the run, schedules none and ignores refreshes', async () => {
  const run = vi.fn(async () => true);
  const poller = createPoller({ run, intervalMs: () => 2_000 });
  poller.resume();
  await vi.advanceTimersByTimeAsync(0);
  poller.suspend();
  poller.refresh();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(run).toHaveBeenCalledTimes(1);
  expect(poller.nextAt.value).toBeNull();
});

test('runs once if polling is off', async () => {
  const run = vi.fn(async () => true);
  const poller = createPoller({ run, intervalMs: () => null });
  poller.resume();
  await vi.advanceTimersByTimeAsync(60_000);
  poller.suspend();
  poller.resume();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(run).toHaveBeenCalledTimes(1);
});
