import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  CHART_MODES,
  DEFAULT_ROUTE,
  DIRECTIONS,
  FILTERS,
  formatRoute,
  GROUPINGS,
  INTERVALS,
  parseRoute,
  RANGES,
  type Route,
  SORT_KEYS,
  VIEWS,
} from './navigation.js';

const routes: fc.Arbitrary<Route> = fc.record({
  view: fc.constantFrom(...VIEWS),
  name: fc.option(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 })),
  q: fc.string({ unit: 'grapheme' }),
  sort: fc.constantFrom(...SORT_KEYS),
  dir: fc.constantFrom(...DIRECTIONS),
  show: fc.constantFrom(...FILTERS),
  group: fc.constantFrom(...GROUPINGS),
  closed: fc.array(fc.string({ unit: 'grapheme' })),
  every: fc.constantFrom(...INTERVALS),
  range: fc.constantFrom(...RANGES, 'auto' as const),
  chart: fc.constantFrom(...CHART_MODES),
  yesterday: fc.boolean(),
  selection: fc.option(
    fc
      .tuple(fc.maxSafeNat(), fc.maxSafeNat())
      .filter(([from, to]) => from !== to)
      .map(([from, to]) => ({ from: Math.min(from, to), to: Math.max(from, to) })),
  ),
});

test('parsing a formatted route returns the route', () => {
  fc.assert(
    fc.property(routes, (route) => {
      expect(parseRoute(formatRoute(route))).toEqual(route);
    }),
  );
});

test.each([
  'a/b',
  '50%',
  '__proto__',
  '日本',
  'x'.repeat(300),
  '<img src=x onerror=alert(1)>',
  'a?b#c&d=e',
  ' ',
  '%2F',
])('the type %s survives a round trip through a URL', (type) => {
  const url = new URL(formatRoute({ ...DEFAULT_ROUTE, name: type }), 'http://host/');
  expect(parseRoute(url.hash)).toMatchObject({ view: 'events', name: type });
});

test('defaults are not in the URL', () => {
  expect(formatRoute(DEFAULT_ROUTE)).toBe('#/');
  expect(
    formatRoute({ ...DEFAULT_ROUTE, name: 'order.created', sort: 'failed', dir: 'desc', q: 'ord', show: 'failing' }),
  ).toBe('#/events/order.created?sort=failed&q=ord&show=failing');
});

test.each(['', '#', '#/', '#/nonsense', '#/events/', '#/?sort=constructor&dir=up&show=__proto__&every=0'])(
  '%j is the default route',
  (hash) => {
    expect(parseRoute(hash)).toEqual(DEFAULT_ROUTE);
  },
);

test('accepts a single percent sign', () => {
  expect(parseRoute('#/events/50%').name).toBe('50%');
});

test('formats a name with a lone surrogate without an error', () => {
  expect(formatRoute({ ...DEFAULT_ROUTE, name: '\ud800' })).toBe('#/events/%EF%BF%BD');
});
