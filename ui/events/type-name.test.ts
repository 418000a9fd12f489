import { expect, test } from 'vitest';
import { partedNames } from './type-name.js';

/** Returns names as they are parted, with a bar between the parts. */
function part(...names: readonly string[]): readonly string[] {
  const parted = partedNames(names);
  return names.map((name) => {
    const at = parted.get(name);
    return at === undefined ? name : `${[...name].slice(0, at).join('')}|${[...name].slice(at).join('')}`;
  });
}

test('names that differ in the middle alone are parted at the word that differs', () => {
  expect(
    part('analytics.segments.region_eu.recalculated', 'analytics.segments.region_us.recalculated', 'order.created'),
  ).toEqual([
    'analytics.segments.region_|eu.recalculated',
    'analytics.segments.region_|us.recalculated',
    'order.created',
  ]);
});

test('of several, each is parted at the first word in which they differ', () => {
  expect(
    part(
      'billing.invoices.eu.first.reminder.sent',
      'billing.invoices.eu.second.reminder.sent',
      'billing.invoices.us.first.reminder.sent',
    ),
  ).toEqual([
    'billing.invoices.|eu.first.reminder.sent',
    'billing.invoices.|eu.second.reminder.sent',
    'billing.invoices.|us.first.reminder.sent',
  ]);
});

test('names without a separator are parted within the word', () => {
  const [a, b] = ['🙂'.repeat(20), '🙂'.repeat(20)].map((same, index) => `${same}${index}${'x'.repeat(20)}`);
  expect(part(a ?? '', b ?? '')).toEqual(
    [a, b].map((name) => `${'🙂'.repeat(18)}|${[...(name ?? '')].slice(18).join('')}`),
  );
});

test('names that differ at an end are cut as usual', () => {
  const names = ['analytics.segments.recalculated', 'marketing.segments.recalculated', 'analytics.segments.deleted'];
  expect(part(...names)).toEqual(names);
});
