import { expect, test } from 'vitest';
import { countByFilter, createHubStore } from '../state/hub-store.js';
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
import { holdOrder, type ListQuery, listRows } from './event-list.js';

const store = createHubStore();
store.apply(
  introspectionOf([
    failingOf('order.10', 5, 5),
    eventOf('order.2', countsOf(90, 10, { lastReceivedAt: SERVER_NOW, pending: 3, deadLetters: 1 })),
    eventOf('Invoice', countsOf()),
    eventOf('audit', countsOf(50, 0), { recent: recentOf(periodOf(50, 0, { retried: 2 })) }),
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
  ['by pending', { sort: 'pending', dir: 'desc' }, ['order.2', 'audit', 'Invoice', 'order.10']],
  ['by retried', { sort: 'retried', dir: 'desc' }, ['audit', 'Invoice', 'order.2', 'order.10']],
  ['by failed', { sort: 'failed', dir: 'desc' }, ['order.10', 'audit', 'Invoice', 'order.2']],
  ['by rate', { sort: 'rate', dir: 'desc' }, ['audit', 'order.10', 'Invoice', 'order.2']],
  ['unknown values last', { sort: 'failures', dir: 'asc' }, ['audit', 'order.10', 'Invoice', 'order.2']],
  [
    'unknown values last when descending',
    { sort: 'failures', dir: 'desc' },
    ['order.10', 'audit', 'Invoice', 'order.2'],
  ],
  ['search ignores case', { q: ' inv' }, ['Invoice']],
  ['filter', { show: 'failing' }, ['order.10']],
  ['filter of all problems', { show: 'problems' }, ['order.2', 'order.10']],
  ['search and filter', { q: 'audit', show: 'never' }, []],
])('%s', (_, query, expected) => {
  expect(listRows(rows, { ...all, ...query }, store.reading.value).map(({ type }) => type)).toEqual(expected);
});

test('of failing types, those come first that fail most, then by name; a share of 0.1 % is below one of 100 %', () => {
  const failing = createHubStore();
  const types = [failingOf('a', 999, 1), failingOf('b', 0, 7), failingOf('c', 500, 500), failingOf('d', 999, 1)];
  failing.apply(introspectionOf(types), momentAt(0));
  const order = listRows(failing.rows.value.values(), { ...all, sort: 'status' }, failing.reading.value);
  expect(order.map(({ type }) => type)).toEqual(['b', 'c', 'a', 'd']);
});

test('in a selected range the types that failed in it come first', () => {
  const ranged = createHubStore();
  ranged.apply(introspectionOf([failingOf('a', 0, 1), eventOf('b', countsOf(9))]), momentAt(0));
  ranged.select({ from: 0, to: 60_000, events: [{ type: 'b', counts: periodOf(1, 1) }] });
  const order = listRows(ranged.rows.value.values(), { ...all, sort: 'status' }, ranged.reading.value);
  expect(order.map(({ type }) => type)).toEqual(['b', 'a']);
});

test('counts the rows of each filter', () => {
  expect(countByFilter(rows)).toEqual({ all: 4, problems: 2, failing: 1, active: 0, idle: 1, never: 1 });
});

test('a held order leaves rows in place, drops removed ones and appends new ones', () => {
  const isRegistered = (type: string): boolean => type !== 'gone';
  expect(holdOrder(['c', 'gone', 'a'], ['a', 'b', 'c'], isRegistered)).toEqual(['c', 'a', 'b']);
});
