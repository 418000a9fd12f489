import { effect } from '@preact/signals';
import { expect, test } from 'vitest';
import { countsOf, eventOf, introspectionOf, momentAt } from '../testing/test-data.js';
import { ratePerSecond } from './history.js';
import { createHubStore } from './hub-store.js';

test('the first response is a baseline, the second gives a rate', () => {
  const store = createHubStore();
  store.apply(introspectionOf([eventOf('a', countsOf(9_000))]), momentAt(0));
  expect(store.rows.value.get('a')?.view.value.ratePerSecond).toBeNull();
  store.apply(introspectionOf([eventOf('a', countsOf(9_020))]), momentAt(2_000));
  expect(store.rows.value.get('a')?.view.value.ratePerSecond).toBe(10);
  expect(ratePerSecond(store.activity.value)).toBe(10);
});

test('accepts __proto__ and constructor as event types', () => {
  const store = createHubStore();
  store.apply(introspectionOf([eventOf('__proto__', countsOf(1)), eventOf('constructor', countsOf(2))]), momentAt(0));
  expect([...store.rows.value.keys()]).toEqual(['__proto__', 'constructor']);
  expect(store.totals.value.received).toBe(3);
});

test('a type that is added later with old counts causes no spike', () => {
  const store = createHubStore();
  store.apply(introspectionOf([eventOf('a')]), momentAt(0));
  store.apply(introspectionOf([eventOf('a'), eventOf('b', countsOf(1_000_000))]), momentAt(2_000));
  expect(ratePerSecond(store.activity.value)).toBe(0);
});

test('returns the types with new failures', () => {
  const store = createHubStore();
  store.apply(introspectionOf([eventOf('a', countsOf(1, 7)), eventOf('b')]), momentAt(0));
  const { newFailures } = store.apply(introspectionOf([eventOf('a', countsOf(1, 9)), eventOf('b')]), momentAt(2_000));
  expect([...newFailures]).toEqual([['a', 2]]);
});

test('a later start in one process is a restart even if the counters are higher', () => {
  const store = createHubStore();
  store.apply(introspectionOf([eventOf('a', countsOf(5))]), momentAt(0));
  store.apply(introspectionOf([eventOf('a', countsOf(500))], { startedAt: 1 }), momentAt(2_000));
  expect(store.rows.value.get('a')?.view.value).toMatchObject({ restarted: true, ratePerSecond: null });
});

test('processes on Redis that respond in turn are no restart', () => {
  const store = createHubStore();
  store.apply(introspectionOf([eventOf('a', countsOf(5))], { transport: 'redis', startedAt: 1 }), momentAt(0));
  store.apply(introspectionOf([eventOf('a', countsOf(9))], { transport: 'redis', startedAt: 2 }), momentAt(2_000));
  expect(store.rows.value.get('a')?.view.value).toMatchObject({ restarted: false, ratePerSecond: 2 });
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
