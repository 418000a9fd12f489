import { effect } from '@preact/signals';
import { expect, test } from 'vitest';
import {
  countsOf,
  eventOf,
  failingOf,
  introspectionOf,
  momentAt,
  periodOf,
  recentOf,
  SERVER_NOW,
} from '../testing/test-data.js';
import { createHubStore } from './hub-store.js';

test('the first response gives all numbers, whenever the page is opened', () => {
  const store = createHubStore();
  const event = eventOf('a', countsOf(9_000, 2, { pending: 4, deadLetters: 2 }), {
    recent: recentOf(periodOf(38, 2, { retried: 3 })),
  });
  store.apply(introspectionOf([event]), momentAt(0));
  expect(store.rows.value.get('a')?.view.value).toMatchObject({
    status: 'failing',
    ratePerSecond: 40 / 60,
    failed: 2,
    failureRatio: 0.05,
    pending: 4,
    retried: 3,
    received: 9_006,
  });
});

test('a selected range replaces the counts of the last minutes', () => {
  const store = createHubStore();
  store.apply(introspectionOf([failingOf('a', 1, 9), eventOf('b', countsOf(5))]), momentAt(0));
  const range = { from: SERVER_NOW - 120_000, to: SERVER_NOW - 60_000, stepMs: 60_000 };
  store.select({ ...range, events: [{ type: 'a', counts: periodOf(30, 0) }] });
  expect(store.rows.value.get('a')?.view.value).toMatchObject({ ratePerSecond: 0.5, failed: 0, received: 30 });
  expect(store.rows.value.get('b')?.view.value).toMatchObject({ ratePerSecond: 0, failureRatio: null, received: 0 });
  store.select(null);
  expect(store.rows.value.get('a')?.view.value).toMatchObject({ failed: 9, received: 10 });
});

test('accepts __proto__ and constructor as event types', () => {
  const store = createHubStore();
  store.apply(introspectionOf([eventOf('__proto__', countsOf(1)), eventOf('constructor', countsOf(2))]), momentAt(0));
  expect([...store.rows.value.keys()]).toEqual(['__proto__', 'constructor']);
  expect(store.totals.value?.metrics.received).toBe(3);
});

test('returns the types with new failures', () => {
  const store = createHubStore();
  store.apply(introspectionOf([eventOf('a', countsOf(1, 7)), eventOf('b')]), momentAt(0));
  const { newFailures } = store.apply(introspectionOf([eventOf('a', countsOf(1, 9)), eventOf('b')]), momentAt(2_000));
  expect([...newFailures]).toEqual([['a', 2]]);
});

test('counters that restart are no new failures', () => {
  const store = createHubStore();
  store.apply(introspectionOf([eventOf('a', countsOf(1, 7))]), momentAt(0));
  const { newFailures } = store.apply(introspectionOf([eventOf('a', countsOf(1, 2))]), momentAt(2_000));
  expect([...newFailures]).toEqual([]);
});

test('a row with unchanged values does not render again', () => {
  const store = createHubStore();
  const idle = eventOf('idle', countsOf(3, 0, { lastReceivedAt: 1 }));
  store.apply(introspectionOf([idle, eventOf('busy')]), momentAt(0));
  store.apply(introspectionOf([idle, eventOf('busy', countsOf(1))]), momentAt(2_000));
  let renders = 0;
  const stop = effect(() => {
    renders += store.rows.value.get('idle')?.view.value ? 1 : 0;
  });
  store.apply(introspectionOf([idle, eventOf('busy', countsOf(2))]), momentAt(4_000));
  store.apply(introspectionOf([idle, eventOf('busy', countsOf(3))]), momentAt(6_000));
  stop();
  expect(renders).toBe(1);
});
