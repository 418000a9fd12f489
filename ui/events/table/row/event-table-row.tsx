import type { JSX } from 'preact';
import { formatPercent, formatRate } from '../../../format/ratio.js';
import type { Navigation } from '../../../routing/navigation.js';
import { viewPath } from '../../../routing/route.js';
import { Count } from '../../../shared/count.js';
import type { EventRow } from '../../../store/rows/event-row.js';
import { StatusBadge } from './status-badge.js';
import { TrendChart } from './trend-chart.js';
import { TypeName } from './type-name.js';

export interface EventTableRowProps {
  readonly row: EventRow;
  /** Index in the table body. */
  readonly index: number;
  readonly navigation: Navigation;
}

/** Row of an event type. It renders only if one of its values changes. */
export function EventTableRow({ row, index, navigation }: EventTableRowProps): JSX.Element {
  const isOpen = navigation.openType.value === row.type;
  const view = row.view.value;
  return (
    <tr class="long-row row" data-open={isOpen} aria-rowindex={index + 2} style={{ '--index': index }}>
      <td class="col-status">
        <StatusBadge status={view.status} failingRatio={view.failingRatio} />
      </td>
      <th scope="row" class="col-type">
        <a
          class="row-link"
          href={viewPath('events', row.type) + navigation.query.value}
          title={row.type}
          aria-label={row.type}
          aria-current={isOpen ? 'true' : undefined}
          data-type={row.type}
        >
          <TypeName type={row.type} />
        </a>
        {view.kind !== 'handler' && <span class="tag">{view.kind}</span>}
      </th>
      <td class="col-trend">
        <TrendChart received={view.trendReceived} failed={view.trendFailed} />
      </td>
      <td class="col-rate">{formatRate(view.ratePerSecond)}</td>
      <td class="col-failed" data-any={view.failed > 0}>
        <Count value={view.failed} />
      </td>
      <td class="col-failures" data-any={view.failed > 0}>
        {formatPercent(view.failureRatio)}
      </td>
      <td class="col-pending" data-any={view.pending > 0}>
        <Count value={view.pending} />
      </td>
      <td class="col-retried" data-any={view.retried > 0}>
        <Count value={view.retried} />
      </td>
      <td class="col-received">
        <Count value={view.received} />
      </td>
    </tr>
  );
}
