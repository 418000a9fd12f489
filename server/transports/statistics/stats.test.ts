import { expect, test } from 'vitest';
import { COUNTERS, type CounterKind, sumCounts } from './stats.js';

/** Result of merging 3 and 5. */
const merged: Readonly<Record<CounterKind, number>> = { stored: 8, live: 8, optional: 8, latest: 5, oldest: 3 };

test.each(Object.entries(COUNTERS))('%s of several services is merged as a %s counter', (name, kind) => {
  const counted = name === 'pending' ? 'received' : name;
  const none = sumCounts([]);
  expect(sumCounts([{ ...none, [counted]: 3 }, none, { ...none, [counted]: 5 }])).toHaveProperty(name, merged[kind]);
});

test('counts that are optional, and times that are unknown, are absent', () => {
  const required = Object.entries(COUNTERS).filter(([, kind]) => kind === 'stored' || kind === 'live');
  expect(Object.keys(sumCounts([])).sort()).toEqual(required.map(([name]) => name).sort());
});
