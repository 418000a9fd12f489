import type { JSX } from 'preact';
import type { Monitor } from '../polling/monitor.js';
import type { Navigation } from '../routing/navigation.js';
import { Activity } from './activity.js';
import { KpiStrip } from './kpi-strip.js';

export interface OverviewProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** Key figures and chart of the whole hub. */
export function Overview({ monitor, navigation }: OverviewProps): JSX.Element {
  return (
    <section class="card overview" aria-label="Overview">
      <KpiStrip store={monitor.store} serverNow={monitor.serverNow.value} />
      <Activity monitor={monitor} navigation={navigation} />
    </section>
  );
}
