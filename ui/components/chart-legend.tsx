import type { JSX } from 'preact';
import { Icon } from './icon.js';

/** What the colours of a chart stand for. */
export function ChartLegend(): JSX.Element {
  return (
    <ul class="legend">
      <li class="tone-received">
        <Icon name="dot" /> Received
      </li>
      <li class="tone-completed">
        <Icon name="check" /> Completed
      </li>
      <li class="tone-failed">
        <Icon name="triangle" /> Failed
      </li>
    </ul>
  );
}
