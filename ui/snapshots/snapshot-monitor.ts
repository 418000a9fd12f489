import { signal } from '@preact/signals';
import type { Monitor } from '../polling/monitor.js';
import type { History, Sample } from '../store/history.js';
import { createHubStore } from '../store/hub-store.js';
import type { Snapshot } from './snapshot.js';

/** What a snapshot knows, as if its moment were now and went on for ever. */
export function createSnapshotMonitor(snapshot: Snapshot): Monitor {
  const { serverNow, introspection, detail } = snapshot;
  // Samples are moved onto the clock of this page.
  const at = serverNow - performance.timeOrigin;
  const moved = (history: History): Sample[] =>
    history.map((sample) => ({ ...sample, at: sample.at - snapshot.at + at }));
  const histories = new Map(
    introspection.events.map(({ type }, index) => [type, moved(snapshot.histories[index] ?? [])]),
  );
  const store = createHubStore({ histories, activity: moved(snapshot.activity) });
  store.apply(introspection, { at, serverNow });
  return {
    store,
    detail: signal(detail && { type: detail.type, body: detail, error: null }),
    connection: signal({ kind: 'snapshot' }),
    announcement: signal('This is a snapshot.'),
    now: signal(at),
    serverNow: signal(serverNow),
    lastGoodAt: signal(at),
    nextAt: signal(null),
    refresh: () => {},
    hold: () => {},
    stop: () => {},
  };
}
