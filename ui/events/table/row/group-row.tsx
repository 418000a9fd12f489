import type { JSX } from 'preact';
import { Icon } from '../../../controls/icon.js';
import { formatPercent, formatRate } from '../../../format/ratio.js';
import type { Navigation } from '../../../routing/navigation.js';
import { Count } from '../../../shared/count.js';
import { failureLevel } from '../../../store/rows/event-status.js';
import type { EventGroup } from '../event-groups.js';
import { TrendChart } from './trend-chart.js';

export interface GroupRowProps {
  readonly group: EventGroup;
  /** Index in the table body. */
  readonly index: number;
  readonly navigation: Navigation;
}

/** Header of a group of event types, with their sums. It expands and collapses the group. */
export function GroupRow({ group, index, navigation }: GroupRowProps): JSX.Element {
  const { prefix, types, failing, isOpen, failed, pending, retried, received } = group;
  const toggle = (): void => {
    const others = navigation.route.value.closed.filter((other) => other !== prefix);
    navigation.go({ closed: isOpen ? [...others, prefix] : others }, { replace: true });
  };
  return (
    <tr class="long-row row group-row" aria-rowindex={index + 2} style={{ '--index': index }}>
      <th scope="rowgroup" class="col-type" colSpan={2}>
        <button type="button" class="group-toggle" aria-expanded={isOpen} onClick={toggle}>
          <Icon name={isOpen ? 'open' : 'closed'} />
          <bdi>{prefix === '' ? 'No prefix' : prefix}</bdi>
          <span class="chip-count">{types}</span>
        </button>
        {failing > 0 && <span class={`tag is-failing is-${failureLevel(group.failingRatio)}`}>{failing} failing</span>}
      </th>
      <td class="col-trend">
        <TrendChart received={group.trendReceived} failed={group.trendFailed} />
      </td>
      <td class="col-rate">{formatRate(group.ratePerSecond)}</td>
      <td class="col-failed" data-any={failed > 0}>
        <Count value={failed} />
      </td>
      <td class="col-failures" data-any={failed > 0}>
        {formatPercent(group.failureRatio)}
      </td>
      <td class="col-pending" data-any={pending > 0}>
        <Count value={pending} />
      </td>
      <td class="col-retried" data-any={retried > 0}>
        <Count value={retried} />
      </td>
      <td class="col-received">
        <Count value={received} />
      </td>
    </tr>
  );
}
