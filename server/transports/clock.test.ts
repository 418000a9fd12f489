import { afterEach, expect, it, vi } from 'vitest';
import { systemClock } from './clock.js';

afterEach(() => vi.useRealTimers());

it('waits longer than a single platform timer can', () => {
  vi.useFakeTimers();
  const days = 60 * 24 * 3_600_000;
  const fn = vi.fn();
  systemClock.after(days, fn);
  vi.advanceTimersByTime(days - 1);
  expect(fn).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(fn).toHaveBeenCalledOnce();
});

it('can be cancelled during any part of a long wait', () => {
  vi.useFakeTimers();
  const days = 60 * 24 * 3_600_000;
  const fn = vi.fn();
  const timer = systemClock.after(days, fn);
  vi.advanceTimersByTime(days / 2);
  timer.cancel();
  vi.advanceTimersByTime(days);
  expect(fn).not.toHaveBeenCalled();
});
