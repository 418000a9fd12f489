import type { JSX } from 'preact';
import type { Counts } from '../../server/dashboard/protocol.js';
import { UNKNOWN } from '../format/count.js';
import { Count } from './count.js';
import { Stat } from './stat.js';

export interface PanelCountsProps {
  readonly counts: Counts;
  /** `undefined` until the type was read in depth. */
  readonly deduplicated: number | undefined;
}

export function PanelCounts({ counts, deduplicated }: PanelCountsProps): JSX.Element {
  return (
    <dl class="stats panel-stats">
      <Stat label="Received" icon="dot" tone="received">
        <Count value={counts.received} />
      </Stat>
      <Stat label="Completed" icon="check" tone="completed">
        <Count value={counts.completed} />
      </Stat>
      <Stat label="Failed" icon="triangle" tone="failed">
        <Count value={counts.failed} />
      </Stat>
      <Stat label="Pending" title="Accepted and not ended: waiting, delayed or running">
        <Count value={counts.pending} />
      </Stat>
      <Stat label="Active" title="Handlers running now">
        <Count value={counts.active} />
      </Stat>
      <Stat label="Retried" title="Attempts that failed and were scheduled again">
        <Count value={counts.retried} />
      </Stat>
      <Stat label="Deduplicated" title="Events not accepted because their dedupe id was known">
        {deduplicated === undefined ? UNKNOWN : <Count value={deduplicated} />}
      </Stat>
    </dl>
  );
}
