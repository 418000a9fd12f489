import { expect, test } from 'vitest';
import { ratePerSecond } from '../store/history.js';
import type { HubStore } from '../store/hub-store.js';
import { createHubStore } from '../store/hub-store.js';
import { answerOf, countsOf, detailOf, eventOf, momentAt, SERVER_NOW, workflowOf } from '../testing/test-data.js';
import { readSnapshot, takeSnapshot } from './snapshot.js';
import { createSnapshotMonitor } from './snapshot-monitor.js';

/** A store that has been polled every 2 seconds for a minute, while ten events came each time. */
function polledStore(): HubStore {
  const store = createHubStore();
  const workflows = [workflowOf('fulfil', ['pick'])];
  for (let poll = 0; poll <= 30; poll += 1) {
    const busy = countsOf(poll * 10, poll > 20 ? 1 : 0, {
      lastReceivedAt: SERVER_NOW + poll * 2_000,
      ...(poll > 20 && { lastFailedAt: SERVER_NOW + 40_000 }),
    });
    store.apply(answerOf([eventOf('__proto__', busy), eventOf('idle')], {}, { workflows }), momentAt(poll * 2_000));
  }
  return store;
}

function reopened(store: HubStore): HubStore {
  const detail = { value: { type: '__proto__', body: detailOf('__proto__', countsOf(1)), error: null } };
  const text = takeSnapshot({ store, detail });
  return createSnapshotMonitor(readSnapshot(text ?? '')).store;
}

test('what a page knew is there again: counts, statuses, rates and drawings', () => {
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

test('samples keep their time of day on the clock of the page that opens them', () => {
  const opened = reopened(polledStore());
  const last = opened.activity.value.at(-1)?.at ?? 0;
  expect(performance.timeOrigin + last).toBeCloseTo(SERVER_NOW + 60_000, -1);
});

test('the open panel comes along', () => {
  const store = polledStore();
  const detail = { value: { type: 'idle', body: detailOf('idle', countsOf(0)), error: null } };
  const { detail: opened } = createSnapshotMonitor(readSnapshot(takeSnapshot({ store, detail }) ?? ''));
  expect(opened.value?.body?.type).toBe('idle');
});

test('before the first answer there is nothing to take', () => {
  expect(takeSnapshot({ store: createHubStore(), detail: { value: null } })).toBeNull();
});

test.each(['', '{}', '[1]', 'null', '{"format":"hubline snapshot 99"}', '\u0000\u0001'])(
  '%j is refused in words',
  (text) => {
    expect(() => readSnapshot(text)).toThrow('This file is not a snapshot of a dashboard, or one of another version.');
  },
);
