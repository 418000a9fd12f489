import type { JSX } from 'preact';
import { formatPercent, formatRate } from '../format/ratio.js';
import { CountStats } from '../shared/count-stats.js';
import { Stat } from '../shared/stat.js';
import { failureRatio } from '../store/event-row.js';
import { ratePerSecond } from '../store/history.js';
import type { HubStore } from '../store/hub-store.js';
import { ActivityChart } from './activity-chart.js';

/** Counts of the whole hub and the chart of its last minutes. */
export function Overview({ store }: { store: HubStore }): JSX.Element {
  const totals = store.hub.value && store.totals.value;
  return (
    <section class="card overview" aria-label="Overview">
      <dl class="stats">
        <CountStats counters={['received', 'completed', 'failed', 'pending']} counts={totals} />
        <Stat label="Failure rate" title="Failed events divided by completed and failed events">
          {formatPercent(totals && failureRatio(totals))}
        </Stat>
        <Stat label="Events per second" title="Events received per second over the last 10 seconds">
          {formatRate(ratePerSecond(store.activity.value))}
        </Stat>
      </dl>
      <ActivityChart history={store.activity.value} />
    </section>
  );
}
