import { signal } from '@preact/signals';
import type { Monitor } from '../polling/monitor.js';
import { createHubStore } from '../store/hub-store.js';
import type { Snapshot } from './snapshot.js';

/** Creates a monitor of a snapshot, whose clock stands at the time of the snapshot. */
export function createSnapshotMonitor(snapshot: Snapshot): Monitor {
  const { serverNow, introspection, range, detail } = snapshot;
  const at = serverNow - performance.timeOrigin;
  const store = createHubStore();
  store.apply(introspection, { at, serverNow });
  store.select(range);
  return {
    store,
    detail: signal(detail && { type: detail.type, body: detail, error: null }),
    request: signal(null),
    waits: signal(null),
    processes: signal(null),
    agentRuns: signal(null),
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
