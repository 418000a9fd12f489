import { expect, test } from 'vitest';
import { ratePerSecond } from '../store/history.js';
import type { HubStore } from '../store/hub-store.js';
import { createHubStore } from '../store/hub-store.js';
import {
  countsOf,
  detailOf,
  eventOf,
  introspectionOf,
  momentAt,
  SERVER_NOW,
  workflowOf,
} from '../testing/test-data.js';
import { readSnapshot, takeSnapshot } from './snapshot.js';
import { createSnapshotMonitor } from './snapshot-monitor.js';

/** Returns a store after a minute of polls every 2 seconds, with ten events each. */
function polledStore(): HubStore {
  const store = createHubStore();
  const workflows = [workflowOf('fulfil', ['pick'])];
  for (let poll = 0; poll <= 30; poll += 1) {
    const busy = countsOf(poll * 10, poll > 20 ? 1 : 0, {
      lastReceivedAt: SERVER_NOW + poll * 2_000,
      ...(poll > 20 && { lastFailedAt: SERVER_NOW + 40_000 }),
    });
    store.apply(
      introspectionOf([eventOf('__proto__', busy), eventOf('idle')], {}, { workflows }),
      momentAt(poll * 2_000),
    );
  }
  return store;
}

function reopened(store: HubStore): HubStore {
  const detail = { value: { type: '__proto__', body: detailOf('__proto__', countsOf(1)), error: null } };
  const text = takeSnapshot({ store, detail });
  return createSnapshotMonitor(readSnapshot(text ?? '')).store;
}

test('restores counts, statuses, rates and sparklines', () => {
  const store = polledStore();
  const opened = reopened(store);
  expect(opened.hub.value).toEqual(store.hub.value);
  expect(opened.totals.value).toEqual(store.totals.value);
  expect(opened.workflows.value).toEqual(store.workflows.value);
  for (const type of ['__proto__', 'idle']) {
    const { line, failures, ...view } = store.rows.value.get(type)?.view.value ?? {};
    expect(opened.rows.value.get(type)?.view.value).toMatchObject(view);
  }
  expect(opened.rows.value.get('__proto__')?.view.value.line).not.toBe('');
  expect(ratePerSecond(opened.activity.value)).toBe(ratePerSecond(store.activity.value));
});

test('samples have the same time of day on the clock of the page that opens them', () => {
  const opened = reopened(polledStore());
  const last = opened.activity.value.at(-1)?.at ?? 0;
  expect(performance.timeOrigin + last).toBeCloseTo(SERVER_NOW + 60_000, -1);
});

test('contains the details of the open panel', () => {
  const store = polledStore();
  const detail = { value: { type: 'idle', body: detailOf('idle', countsOf(0)), error: null } };
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

test.each([
  ['a time that no calendar has', (file: Mutable) => (file.serverNow = 1e300)],
  ['a negative time', (file: Mutable) => (file.serverNow = -1)],
  ['samples over many years', (file: Mutable) => (file.activity[0].at = -1e13)],
  ['minutes over many years', (file: Mutable) => (file.detail.perMinute[0].at = 0)],
  ['a number beyond all counts', (file: Mutable) => (file.introspection.events[0].metrics.received = 1e15)],
  ['a very long text', (file: Mutable) => (file.introspection.events[0].description = 'x'.repeat(200_000))],
  ['a very long list', (file: Mutable) => (file.introspection.agents = Array(200_000).fill(null))],
  ['a very deep schema', (file: Mutable) => (file.introspection.events[0].schema = deep(1_000))],
])('refuses a file with %s', (_, change) => {
  const detail = { value: { type: '__proto__', body: detailOf('__proto__', countsOf(1)), error: null } };
  const file: Mutable = JSON.parse(takeSnapshot({ store: polledStore(), detail }) ?? '');
  expect(() => readSnapshot(JSON.stringify(file))).not.toThrow();
  change(file);
  expect(() => readSnapshot(JSON.stringify(file))).toThrow('not a dashboard snapshot');
});

// biome-ignore lint/suspicious/noExplicitAny: a file of a stranger, whose parts the cases change
type Mutable = any;

function deep(levels: number): object {
  let value: object = {};
  for (let level = 0; level < levels; level += 1) value = { value };
  return value;
}
