import type { JSX } from 'preact';
import { UNKNOWN } from '../format/count.js';
import { formatPercent, formatRate } from '../format/ratio.js';
import { failureRatio } from '../state/event-row.js';
import { ratePerSecond } from '../state/history.js';
import type { HubStore } from '../state/hub-store.js';
import { ActivityChart } from './activity-chart.js';
import { Count } from './count.js';
import { Stat } from './stat.js';

/** The hub as a whole: its counts, and the last minutes. */
export function Overview({ store }: { store: HubStore }): JSX.Element {
  const totals = store.hub.value && store.totals.value;
  const show = (count: number | undefined): JSX.Element | string =>
    count === undefined ? UNKNOWN : <Count value={count} />;
  return (
    <section class="card overview" aria-label="Overview">
      <dl class="stats">
        <Stat label="Received" icon="dot" tone="received">
          {show(totals?.received)}
        </Stat>
        <Stat label="Completed" icon="check" tone="completed">
          {show(totals?.completed)}
        </Stat>
        <Stat label="Failed" icon="triangle" tone="failed">
          {show(totals?.failed)}
        </Stat>
        <Stat label="Pending" icon="hourglass" title="Accepted and not ended: waiting, delayed or running">
          {show(totals?.pending)}
        </Stat>
        <Stat label="Failure rate" icon="percent" title="Failed events as a part of those that ended">
          {formatPercent(totals && failureRatio(totals))}
        </Stat>
        <Stat label="Events a second" icon="pulse" title="Received, over the last 10 seconds">
          {formatRate(ratePerSecond(store.activity.value))}
        </Stat>
      </dl>
      <ActivityChart history={store.activity.value} />
    </section>
  );
}
