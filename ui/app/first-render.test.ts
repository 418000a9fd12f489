import { signal } from '@preact/signals';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { whenReady } from './first-render.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test.each<[string, (isReady: { value: boolean }) => void, number]>([
  ['at once if it is ready', (isReady) => (isReady.value = true), 0],
  ['after the time if it never is', () => {}, 50],
  ['as soon as it is ready', (isReady) => setTimeout(() => (isReady.value = true), 20), 20],
])('calls once, %s', async (_, act, at) => {
  const isReady = signal(false);
  const calls: number[] = [];
  const startedAt = performance.now();
  act(isReady);
  whenReady(isReady, 50, () => calls.push(performance.now() - startedAt));
  await vi.advanceTimersByTimeAsync(200);
  isReady.value = false;
  isReady.value = true;
  await vi.advanceTimersByTimeAsync(200);
  expect(calls).toEqual([at]);
});
