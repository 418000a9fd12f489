import { expect, test } from 'vitest';
import { countsOf, eventOf, introspectionOf, momentAt } from '../testing/test-data.js';
import { createHubStore } from './hub-store.js';

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
