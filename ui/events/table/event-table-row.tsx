import type { JSX } from 'preact';
import { formatPercent, formatRate } from '../../format/ratio.js';
import type { Navigation } from '../../routing/navigation.js';
import { viewPath } from '../../routing/route.js';
import { Count } from '../../shared/count.js';
import { Icon } from '../../shared/icon.js';
import type { EventRow } from '../../store/event-row.js';
import { SPARK_HEIGHT, SPARK_WIDTH } from '../../store/sparkline.js';
import { StatusBadge } from './status-badge.js';

// Created once: Preact skips an element that is identical to the one in the previous render.
const RECEIVED = <Icon name="dot" />;
const COMPLETED = <Icon name="check" />;
const FAILED = <Icon name="triangle" />;

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
    <tr class="row" data-open={isOpen} aria-rowindex={index + 2} style={{ '--index': index }}>
      <td class="col-status">
        <StatusBadge status={view.status} />
      </td>
      <th scope="row" class="col-type">
        <a
          class="row-link"
          href={viewPath('events', row.type) + navigation.query.value}
          title={row.type}
          aria-current={isOpen ? 'true' : undefined}
          data-type={row.type}
        >
          <bdi>{row.type}</bdi>
        </a>
        {view.kind !== 'handler' && <span class="tag">{view.kind}</span>}
        {view.restarted && (
          <span class="tag is-stale" title="The counters restarted in the last minute">
            restarted
          </span>
        )}
      </th>
      <td class="col-received">
        {RECEIVED}
        <Count value={view.received} />
      </td>
      <td class="col-completed">
        {COMPLETED}
        <Count value={view.completed} />
      </td>
      <td class="col-failed" data-any={view.failed > 0}>
        {FAILED}
        <Count value={view.failed} />
      </td>
      <td class="col-rate">{formatRate(view.ratePerSecond)}</td>
      <td class="col-failures">{formatPercent(view.failureRatio)}</td>
      <td class="col-recent">
        <svg class="spark" viewBox={`0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <path class="spark-line" d={view.line} />
          <path class="spark-failures" d={view.failures} />
        </svg>
        <Count value={view.recent} />
      </td>
    </tr>
  );
}
