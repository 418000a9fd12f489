import { effect } from '@preact/signals';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../scripts/property-tests.js';
import type { EventOverview } from '../../server/dashboard/protocol.js';
import type { Introspection } from '../api/decode-introspection.js';
import { createHubStore, type HubStore } from '../state/hub-store.js';
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
import { type Cell, COLUMNS, watchCells } from './event-columns.js';

/** Returns the values of cells by column. */
function valuesOf(cells: readonly Cell[] = []): Record<string, unknown> {
  return Object.fromEntries(COLUMNS.map(({ key }, index) => [key, cells[index]?.value]));
}

/** Returns what the row of a type shows. */
function shownIn(store: HubStore, type: string): Record<string, unknown> {
  const row = store.rows.value.get(type);
  return valuesOf(row && watchCells(row, store.reading).value);
}

test('the first response gives all numbers, whenever the page is opened', () => {
  const store = createHubStore();
  const event = eventOf('a', countsOf(9_000, 2, { pending: 4, deadLetters: 2 }), {
    recent: recentOf(periodOf(38, 2, { retried: 3 })),
  });
  store.apply(introspectionOf([event]), momentAt(0));
  expect(shownIn(store, 'a')).toMatchObject({
    status: ['failing', 0.05, null],
    rate: 40 / 60,
    failed: 2,
    failures: 0.05,
    pending: 4,
    retried: 3,
    received: 9_006,
  });
});

test('a selected range replaces the counts of the last minutes', () => {
  const store = createHubStore();
  store.apply(introspectionOf([failingOf('a', 1, 9), eventOf('b', countsOf(5))]), momentAt(0));
  const range = { from: SERVER_NOW - 120_000, to: SERVER_NOW - 60_000, stepMs: 60_000 };
  store.select({ ...range, events: [{ type: 'a', counts: periodOf(30, 0) }] });
  expect(shownIn(store, 'a')).toMatchObject({ rate: 0.5, failed: 0, received: 30 });
  expect(shownIn(store, 'b')).toMatchObject({ rate: 0, failures: null, received: 0 });
  store.select(null);
  expect(shownIn(store, 'a')).toMatchObject({ failed: 9, received: 10 });
});

test('a row with unchanged values does not render again', () => {
  const store = createHubStore();
  const idle = eventOf('idle', countsOf(3, 0, { lastReceivedAt: 1 }));
  store.apply(introspectionOf([idle, eventOf('busy')]), momentAt(0));
  store.apply(introspectionOf([idle, eventOf('busy', countsOf(1))]), momentAt(2_000));
  const row = store.rows.value.get('idle');
  const cells = row && watchCells(row, store.reading);
  let renders = 0;
  const stop = effect(() => {
    renders += cells?.value.length === COLUMNS.length ? 1 : 0;
  });
  store.apply(introspectionOf([idle, eventOf('busy', countsOf(2))]), momentAt(4_000));
  store.apply(introspectionOf([idle, eventOf('busy', countsOf(3))]), momentAt(6_000));
  stop();
  expect(renders).toBe(1);
});

test('after an update of any part, a row shows the same as on a page that is opened then', () => {
  const few = fc.nat(3);
  const state = fc.record({
    kind: fc.constantFrom<EventOverview['kind']>('handler', 'agent'),
    counts: fc.record({ active: fc.nat(1), pending: few, deadLetters: few, received: few }),
    last5Min: fc.record({ received: few, completed: few, failed: few, cancelled: fc.constant(0), retried: few }),
    minutes: fc.record({ received: fc.array(few, { maxLength: 20 }), failed: fc.array(few, { maxLength: 20 }) }),
  });
  type State = typeof state extends fc.Arbitrary<infer T> ? T : never;
  const bodyOf = ({ kind, counts, last5Min, minutes }: State): Introspection =>
    introspectionOf([eventOf('a', countsOf(0, 0, counts), { kind, recent: recentOf(last5Min, { minutes }) })]);
  const changes: readonly ((from: State, to: State) => Partial<State>)[] = [
    (_, { kind }) => ({ kind }),
    ({ counts }, to) => ({ counts: { ...counts, pending: to.counts.pending } }),
    ({ counts }, to) => ({ counts: { ...counts, deadLetters: to.counts.deadLetters } }),
    ({ counts }, to) => ({ counts: { ...counts, received: to.counts.received } }),
    ({ last5Min }, to) => ({ last5Min: { ...last5Min, completed: to.last5Min.completed } }),
    ({ last5Min }, to) => ({ last5Min: { ...last5Min, failed: to.last5Min.failed } }),
    ({ last5Min }, to) => ({ last5Min: { ...last5Min, retried: to.last5Min.retried } }),
    ({ minutes }, to) => ({ minutes: { ...minutes, received: to.minutes.received } }),
    ({ minutes }, to) => ({ minutes: { ...minutes, failed: to.minutes.failed } }),
  ];
  fc.assert(
    fc.property(state, state, fc.constantFrom(...changes), (before, other, change) => {
      const [store, opened] = [createHubStore(), createHubStore()];
      store.apply(introspectionOf([eventOf('a')]), momentAt(0));
      const row = store.rows.value.get('a');
      const cells = row && watchCells(row, store.reading);
      const after = { ...before, ...change(before, other) };
      for (const each of [before, after]) {
        store.apply(bodyOf(each), momentAt(0));
        cells?.value;
      }
      opened.apply(bodyOf(after), momentAt(0));
      expect(valuesOf(cells?.value)).toEqual(shownIn(opened, 'a'));
    }),
    { numRuns: runs(500) },
  );
});
