import { signal } from '@preact/signals';
import type { Monitor } from '../polling/monitor.js';
import type { History, Sample } from '../store/history.js';
import { createHubStore } from '../store/hub-store.js';
import type { Snapshot } from './snapshot.js';

/** Creates a monitor of a snapshot, whose clock stands at the time of the snapshot. */
export function createSnapshotMonitor(snapshot: Snapshot): Monitor {
  const { serverNow, introspection, detail } = snapshot;
  // Shift the samples to the clock of this page.
  const at = serverNow - performance.timeOrigin;
  const shifted = (history: History): Sample[] =>
    history.map((sample) => ({ ...sample, at: sample.at - snapshot.at + at }));
  const histories = new Map(
    introspection.events.map(({ type }, index) => [type, shifted(snapshot.histories[index] ?? [])]),
  );
  const store = createHubStore({ histories, activity: shifted(snapshot.activity) });
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
