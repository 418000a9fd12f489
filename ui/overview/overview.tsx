import type { JSX } from 'preact';
import type { Monitor } from '../polling/monitor.js';
import type { Navigation } from '../routing/navigation.js';
import type { Totals } from '../store/hub-store.js';
import { Activity } from './activity.js';
import { KpiStrip } from './kpi-strip.js';
import { NoEvents } from './no-events.js';

export interface OverviewProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** Key figures of the whole hub, and its chart once there was an event. Absent if nothing is registered. */
export function Overview({ monitor, navigation }: OverviewProps): JSX.Element | null {
  const { store } = monitor;
  const hasEvents = store.totals.value === null || wasUsed(store.totals.value);
  if (!hasEvents && store.rows.value.size === 0) return null;
  return (
    <section class="card overview" aria-label="Overview">
      <KpiStrip store={store} serverNow={monitor.serverNow.value} />
      {hasEvents ? <Activity monitor={monitor} navigation={navigation} /> : <NoEvents store={store} />}
    </section>
  );
}

/** Returns true if an event was received: since the start, or within the histories, which may be older. */
function wasUsed({ metrics, histories }: Totals): boolean {
  const lists = [histories.minutes, histories.fiveMinutes, histories.hours];
  return metrics.received > 0 || lists.some(({ received }) => received.some((count) => count > 0));
}
