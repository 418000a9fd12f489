import { expect, test } from 'vitest';
import { countsOf, eventOf, failingOf, introspectionOf, momentAt } from '../testing/test-data.js';
import { compareNames, countByFilter, createHubStore } from './hub-store.js';

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

test('a type that is paused is neither failing nor a problem', () => {
  const store = createHubStore();
  const paused = { by: 'ada', reason: 'card provider is down', since: 1 };
  const failing = failingOf('a', 5, 1);
  store.apply(introspectionOf([failing]), momentAt(0));
  expect(store.rows.value.get('a')?.status).toBe('failing');
  store.apply(introspectionOf([{ ...failing, paused }]), momentAt(2_000));
  expect(store.rows.value.get('a')).toMatchObject({ status: 'paused', cause: null });
  expect(countByFilter(store.rows.value.values())).toMatchObject({ all: 1, problems: 0, failing: 0 });
});

test('counters that restart are no new failures', () => {
  const store = createHubStore();
  store.apply(introspectionOf([eventOf('a', countsOf(1, 7))]), momentAt(0));
  const { newFailures } = store.apply(introspectionOf([eventOf('a', countsOf(1, 2))]), momentAt(2_000));
  expect([...newFailures]).toEqual([]);
});

test('names are in the order of the numbers in them', () => {
  expect(['job 10', 'job 2', 'Job 1'].sort(compareNames)).toEqual(['Job 1', 'job 2', 'job 10']);
});
