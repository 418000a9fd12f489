import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ANNOUNCE_INTERVAL_MS, createAnnouncer } from './announcer.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('announces a change of the connection, but not the first connection', async () => {
  const announcer = createAnnouncer();
  announcer.connection('live');
  await vi.advanceTimersByTimeAsync(ANNOUNCE_INTERVAL_MS);
  expect(announcer.text.value).toBe('');
  announcer.connection('lost');
  await vi.advanceTimersByTimeAsync(0);
  expect(announcer.text.value).toBe('The connection is lost.');
});

test('announces at most once per ten seconds, with everything since', async () => {
  const announcer = createAnnouncer();
  announcer.failures(new Map([['order.paid', 1]]));
  await vi.advanceTimersByTimeAsync(0);
  expect(announcer.text.value).toBe('1 new failure in order.paid.');
  announcer.failures(new Map([['order.paid', 2]]));
  announcer.failures(new Map([['email', 3]]));
  announcer.connection('lost');
  await vi.advanceTimersByTimeAsync(ANNOUNCE_INTERVAL_MS - 1);
  expect(announcer.text.value).toBe('1 new failure in order.paid.');
  await vi.advanceTimersByTimeAsync(1);
  expect(announcer.text.value).toBe('The connection is lost. 5 new failures in 2 event types.');
});

test('does not announce a connection that recovered in the meantime', async () => {
  const announcer = createAnnouncer();
  announcer.failures(new Map([['a', 1]]));
  await vi.advanceTimersByTimeAsync(0);
  announcer.connection('live');
  announcer.connection('lost');
  announcer.connection('live');
  await vi.advanceTimersByTimeAsync(ANNOUNCE_INTERVAL_MS);
  expect(announcer.text.value).toBe('1 new failure in a.');
});
