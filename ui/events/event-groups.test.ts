import { expect, test } from 'vitest';
import { createHubStore } from '../state/hub-store.js';
import { countsOf, eventOf, failingOf, introspectionOf, momentAt } from '../testing/test-data.js';
import { COLUMNS } from './event-columns.js';
import { groupItems, prefixOf } from './event-groups.js';

test.each([
  ['order.created', 'order'],
  ['mail:order.sent', 'mail'],
  ['invoice/requested', 'invoice'],
  ['ping', ''],
  ['.hidden', ''],
  ['', ''],
  ['日本.東京', '日本'],
])('%j has the prefix %j', (type, prefix) => {
  expect(prefixOf(type)).toBe(prefix);
});

const store = createHubStore();
store.apply(
  introspectionOf([
    failingOf('order.paid', 5, 2, { pending: 1 }),
    eventOf('audit:read', countsOf(1)),
    eventOf('ping'),
    eventOf('order.created', countsOf(10)),
    eventOf('__proto__.x'),
  ]),
  momentAt(0),
);
const rows = ['order.paid', 'ping', 'audit:read', 'order.created', '__proto__.x'].flatMap(
  (type) => store.rows.value.get(type) ?? [],
);

function lines(closed: readonly string[]): readonly string[] {
  return groupItems(rows, closed).map((item) => (item.kind === 'row' ? item.type : `# ${item.prefix}`));
}

test('rows follow their group headers, and groups are in the order of their first rows', () => {
  expect(lines([])).toEqual([
    '# order',
    'order.paid',
    'order.created',
    '# ',
    'ping',
    '# audit',
    'audit:read',
    '# __proto__',
    '__proto__.x',
  ]);
});

test('a collapsed group shows only its header', () => {
  expect(lines(['order', ''])).toEqual(['# order', '# ', '# audit', 'audit:read', '# __proto__', '__proto__.x']);
});

test('a group header has the sums of its group', () => {
  const [group] = groupItems(rows, ['order']);
  expect(group).toMatchObject({ kind: 'group', prefix: 'order', failing: 1, failingRatio: 2 / 7, isOpen: false });
  const sums = COLUMNS.map(({ key, readGroup }) => [
    key,
    group?.kind === 'group' && readGroup?.(group.rows, store.reading.value).value,
  ]);
  expect(Object.fromEntries(sums)).toMatchObject({ failed: 2, failures: 2 / 7, pending: 1, retried: 0, received: 18 });
});
