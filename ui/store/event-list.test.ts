import { expect, test } from 'vitest';
import { countsOf, eventOf, introspectionOf, momentAt, SERVER_NOW } from '../testing/test-data.js';
import { countByFilter, holdOrder, type ListQuery, listRows } from './event-list.js';
import { createHubStore } from './hub-store.js';

const store = createHubStore();
store.apply(
  introspectionOf([
    eventOf('order.10', countsOf(5, 5, { lastFailedAt: SERVER_NOW })),
    eventOf('order.2', countsOf(90, 10, { lastReceivedAt: SERVER_NOW })),
    eventOf('Invoice', countsOf()),
    eventOf('audit', countsOf(50, 0)),
  ]),
  momentAt(0),
);
const rows = [...store.rows.value.values()];
const all: ListQuery = { q: '', sort: 'type', dir: 'asc', show: 'all' };

test.each<[string, Partial<ListQuery>, string[]]>([
  ['by name, in natural order', {}, ['audit', 'Invoice', 'order.2', 'order.10']],
  ['by name, descending', { dir: 'desc' }, ['order.10', 'order.2', 'Invoice', 'audit']],
  ['by count', { sort: 'received', dir: 'desc' }, ['order.2', 'audit', 'order.10', 'Invoice']],
  ['by status, the worst first', { sort: 'status' }, ['order.10', 'order.2', 'audit', 'Invoice']],
  ['unknown values last', { sort: 'failures', dir: 'asc' }, ['audit', 'order.2', 'order.10', 'Invoice']],
  [
    'unknown values last when descending',
    { sort: 'failures', dir: 'desc' },
    ['order.10', 'order.2', 'audit', 'Invoice'],
  ],
  ['equal values by name', { sort: 'rate', dir: 'desc' }, ['audit', 'Invoice', 'order.2', 'order.10']],
  ['search ignores case', { q: ' inv' }, ['Invoice']],
  ['filter', { show: 'failing' }, ['order.10']],
  ['search and filter', { q: 'audit', show: 'never' }, []],
])('%s', (_, query, expected) => {
  expect(listRows(rows, { ...all, ...query }).map(({ type }) => type)).toEqual(expected);
});

test('counts the rows of each filter', () => {
  expect(countByFilter(rows)).toEqual({ all: 4, failing: 1, active: 1, idle: 1, never: 1 });
});

test('a held order leaves rows in place, drops removed ones and appends new ones', () => {
  const isRegistered = (type: string): boolean => type !== 'gone';
  expect(holdOrder(['c', 'gone', 'a'], ['a', 'b', 'c'], isRegistered)).toEqual(['c', 'a', 'b']);
});
