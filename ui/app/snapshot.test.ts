import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../scripts/property-tests.js';
import { COLUMNS, watchCells } from '../events/event-columns.js';
import { createHubStore, type HubStore } from '../state/hub-store.js';
import {
  countsOf,
  detailOf,
  eventOf,
  failingOf,
  introspectionOf,
  momentAt,
  periodOf,
  SERVER_NOW,
  workflowOf,
} from '../testing/test-data.js';
import { readSnapshot, takeSnapshot } from './snapshot-file.js';
import { createSnapshotMonitor } from './snapshots.js';

/** Returns a store with one response and a selected range. */
function polledStore(): HubStore {
  const store = createHubStore();
  const workflows = [workflowOf('fulfil', ['pick'])];
  store.apply(introspectionOf([failingOf('__proto__', 300, 1), eventOf('idle')], {}, { workflows }), momentAt(0));
  return store;
}

function reopened(store: HubStore): HubStore {
  const detail = { value: { key: '__proto__', body: detailOf('__proto__', countsOf(1)), error: null } };
  const text = takeSnapshot({ store, detail });
  return createSnapshotMonitor(readSnapshot(text ?? '')).store;
}

/** Returns what the row of a type shows. */
function cellsOf(store: HubStore, type: string): readonly unknown[] {
  const row = store.rows.value.get(type);
  return row === undefined ? [] : watchCells(row, store.reading).value.map(({ value }) => value);
}

test('restores counts, statuses, rates and trends', () => {
  const store = polledStore();
  const opened = reopened(store);
  expect(opened.hub.value).toEqual(store.hub.value);
  expect(opened.health.value).toEqual(store.health.value);
  expect(opened.totals.value).toEqual(store.totals.value);
  expect(opened.workflows.value).toEqual(store.workflows.value);
  for (const type of ['__proto__', 'idle']) {
    expect(cellsOf(opened, type)).toEqual(cellsOf(store, type));
  }
});

test('restores the selected range', () => {
  const store = polledStore();
  store.select({ from: 0, to: 60_000, events: [{ type: 'idle', counts: periodOf(7) }] });
  expect(cellsOf(reopened(store), 'idle')).toEqual(cellsOf(store, 'idle'));
  expect(cellsOf(store, 'idle')).toContain(7);
});

test('ages are those at the time of the snapshot', () => {
  const opened = createSnapshotMonitor(
    readSnapshot(takeSnapshot({ store: polledStore(), detail: { value: null } }) ?? ''),
  );
  expect(opened.serverNow.value).toBe(SERVER_NOW);
});

test('contains the details of the open panel', () => {
  const store = polledStore();
  const detail = { value: { key: 'idle', body: detailOf('idle', countsOf(0)), error: null } };
  const { detail: opened } = createSnapshotMonitor(readSnapshot(takeSnapshot({ store, detail }) ?? ''));
  expect(opened.value?.body?.type).toBe('idle');
});

test('there is no snapshot before the first response', () => {
  expect(takeSnapshot({ store: createHubStore(), detail: { value: null } })).toBeNull();
});

test.each(['', '{}', '[1]', 'null', '{"format":"hubline snapshot 99"}', '\u0000\u0001'])(
  'rejects %j with a message for the user',
  (text) => {
    expect(() => readSnapshot(text)).toThrow('This file is not a dashboard snapshot, or its version is not supported.');
  },
);

/** Returns the text of a snapshot with another value at a path. */
function changed(path: readonly string[], value: unknown): string {
  const detail = { value: { key: 'idle', body: detailOf('idle', countsOf(0)), error: null } };
  return withPart(takeSnapshot({ store: polledStore(), detail }) ?? '', path, value);
}

function withPart(text: string, path: readonly string[], value: unknown): string {
  const file: unknown = JSON.parse(text);
  const parents = path.slice(0, -1);
  const parent = parents.reduce<unknown>((part, key) => Reflect.get(Object(part), key), file);
  Reflect.set(Object(parent), path.at(-1) ?? '', value);
  return JSON.stringify(file);
}

const deep = Array.from({ length: 1_000 }).reduce<unknown>((child) => ({ child }), null);
const tooLate = 1e300;

test.each<[string, readonly string[], unknown]>([
  ['a time that no date has', ['serverNow'], tooLate],
  ['a time before 1970', ['serverNow'], -1],
  ['a hub of another time', ['introspection', 'hub', 'now'], SERVER_NOW + 30 * 24 * 3_600_000],
  ['a chart that starts elsewhere', ['introspection', 'totals', 'histories', 'minutes', 'startAt'], 0],
  ['a detail whose chart starts elsewhere', ['detail', 'histories', 'hours', 'startAt'], 0],
  ['a count that is no count', ['introspection', 'events', 'metrics', 'received', '0'], tooLate],
  ['minutes without end', ['introspection', 'events', 'minutes', 'received', '0'], '1 '.repeat(40_000)],
  ['more levels than a schema has', ['introspection', 'events', 'schema'], deep],
  ['a very long text', ['introspection', 'events', 'types', '0'], 'x'.repeat(100_001)],
  ['a very long list', ['introspection', 'events', 'types'], Array.from({ length: 100_001 }, () => null)],
])('rejects a file with %s', (_, path, value) => {
  expect(() => readSnapshot(changed(path, value))).toThrow('This file is not a dashboard snapshot');
  expect(() => readSnapshot(changed(['unknown'], 1))).not.toThrow();
});

test('any change of any part of a file is opened or rejected with that message, in bounded time', () => {
  const whole: unknown = JSON.parse(changed(['unknown'], null));
  const paths: string[][] = [];
  const collect = (value: unknown, path: string[]): void => {
    if (path.length > 0) paths.push(path);
    if (typeof value !== 'object' || value === null) return;
    for (const [key, part] of Object.entries(value)) collect(part, [...path, key]);
  };
  collect(whole, []);
  const part = fc.oneof(
    fc.constantFrom<unknown>(null, true, -1, 0, 1.5, tooLate, -tooLate, '', '__proto__', [], {}, '1 '.repeat(40_000)),
    fc.jsonValue(),
    fc.string({ unit: 'binary' }),
    fc.double(),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom(...paths), part), { minLength: 1, maxLength: 3 }), (changes) => {
      let text = JSON.stringify(whole);
      for (const [path, value] of changes) text = withPart(text, path, value);
      const before = process.cpuUsage();
      try {
        const { store } = createSnapshotMonitor(readSnapshot(text));
        for (const type of store.rows.value.keys()) expect(cellsOf(store, type)).toHaveLength(COLUMNS.length);
        expect(store.totals.value).toBeDefined();
      } catch (error) {
        expect(String(error)).toContain('This file is not a dashboard snapshot');
      }
      // It hung the tab. A busy machine takes longer, but not more of the processor.
      const { user, system } = process.cpuUsage(before);
      expect((user + system) / 1_000).toBeLessThan(3_000);
    }),
    { numRuns: runs(400) },
  );
});
