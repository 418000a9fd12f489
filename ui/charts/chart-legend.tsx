import type { JSX } from 'preact';
import { COUNTER_LOOK } from '../shared/count-stats.js';
import { Icon } from '../shared/icon.js';

/** Legend of a chart's colours. */
export function ChartLegend(): JSX.Element {
  const { received, completed, failed } = COUNTER_LOOK;
  return (
    <ul class="legend">
      {[received, completed, failed].map(({ label, icon, tone }) => (
        <li key={label} class={`tone-${tone}`}>
          {icon && <Icon name={icon} />} {label}
        </li>
      ))}
    </ul>
  );
}
