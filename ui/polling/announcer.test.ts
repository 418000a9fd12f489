import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ANNOUNCE_EVERY_MS, createAnnouncer } from './announcer.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('says nothing of the first connection, and says a change', async () => {
  const announcer = createAnnouncer();
  announcer.connection('live');
  await vi.advanceTimersByTimeAsync(ANNOUNCE_EVERY_MS);
  expect(announcer.text.value).toBe('');
  announcer.connection('lost');
  await vi.advanceTimersByTimeAsync(0);
  expect(announcer.text.value).toBe('The connection is lost.');
});

test('speaks at most once in ten seconds, and then of all that came together', async () => {
  const announcer = createAnnouncer();
  announcer.failures(new Map([['order.paid', 1]]));
  await vi.advanceTimersByTimeAsync(0);
  expect(announcer.text.value).toBe('1 new failure in order.paid.');
  announcer.failures(new Map([['order.paid', 2]]));
  announcer.failures(new Map([['email', 3]]));
  announcer.connection('lost');
  await vi.advanceTimersByTimeAsync(ANNOUNCE_EVERY_MS - 1);
  expect(announcer.text.value).toBe('1 new failure in order.paid.');
  await vi.advanceTimersByTimeAsync(1);
  expect(announcer.text.value).toBe('The connection is lost. 5 new failures in 2 event types.');
});

test('a connection that is back before anything was said is no news', async () => {
  const announcer = createAnnouncer();
  announcer.failures(new Map([['a', 1]]));
  await vi.advanceTimersByTimeAsync(0);
  announcer.connection('live');
  announcer.connection('lost');
  announcer.connection('live');
  await vi.advanceTimersByTimeAsync(ANNOUNCE_EVERY_MS);
  expect(announcer.text.value).toBe('1 new failure in a.');
});
