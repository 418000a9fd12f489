import { expect, test } from 'vitest';
import { answerOf, countsOf, eventOf, momentAt, SERVER_NOW } from '../testing/test-data.js';
import { countByFilter, holdOrder, type ListQuery, listRows } from './event-list.js';
import { createHubStore } from './hub-store.js';

const store = createHubStore();
store.apply(
  answerOf([
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
  ['by name, as people read it', {}, ['audit', 'Invoice', 'order.2', 'order.10']],
  ['by name, from the end', { dir: 'desc' }, ['order.10', 'order.2', 'Invoice', 'audit']],
  ['by count', { sort: 'received', dir: 'desc' }, ['order.2', 'audit', 'order.10', 'Invoice']],
  ['by status, the worst first', { sort: 'status' }, ['order.10', 'order.2', 'audit', 'Invoice']],
  ['unknown values last', { sort: 'failures', dir: 'asc' }, ['audit', 'order.2', 'order.10', 'Invoice']],
  [
    'unknown values last, the other way too',
    { sort: 'failures', dir: 'desc' },
    ['order.10', 'order.2', 'audit', 'Invoice'],
  ],
  ['equals by name', { sort: 'rate', dir: 'desc' }, ['audit', 'Invoice', 'order.2', 'order.10']],
  ['search ignores case', { q: ' inv' }, ['Invoice']],
  ['filter', { show: 'failing' }, ['order.10']],
  ['search and filter', { q: 'audit', show: 'never' }, []],
])('%s', (_, query, expected) => {
  expect(listRows(rows, { ...all, ...query }).map(({ type }) => type)).toEqual(expected);
});

test('counts what each filter would show', () => {
  expect(countByFilter(rows)).toEqual({ all: 4, failing: 1, active: 1, idle: 1, never: 1 });
});

test('a held order keeps rows in place, drops what is gone, and adds at the end', () => {
  const isRegistered = (type: string): boolean => type !== 'gone';
  expect(holdOrder(['c', 'gone', 'a'], ['a', 'b', 'c'], isRegistered)).toEqual(['c', 'a', 'b']);
});
