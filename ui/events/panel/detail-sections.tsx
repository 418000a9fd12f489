import type { JSX } from 'preact';
import type { Durations, EventBody } from '../../../server/dashboard/protocol.js';
import { MinuteChart } from '../../charts/minute-chart.js';
import { formatDuration } from '../../format/duration.js';
import { Stat } from '../../shared/stat.js';
import { FailureList } from './failure-list.js';
import { PanelSection } from './panel-section.js';

const PERCENTILES: readonly (readonly [keyof Durations, string])[] = [
  ['p50', 'p50'],
  ['p95', 'p95'],
  ['p99', 'p99'],
  ['max', 'Max'],
];

export interface DetailSectionsProps {
  /** `null` before the first response. The sections are then empty, so that the layout does not shift later. */
  readonly body: EventBody | null;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly serverNow: number;
}

/** Sections with the details of an event type: last hour, durations, recent failures. */
export function DetailSections({ body, serverNow }: DetailSectionsProps): JSX.Element {
  return (
    <>
      <PanelSection title="Last hour">
        <MinuteChart buckets={body?.perMinute ?? []} />
      </PanelSection>
      <PanelSection title="Duration of attempts">
        <dl class="stats panel-stats durations">
          {PERCENTILES.map(([key, label]) => (
            <Stat key={key} label={label}>
              {formatDuration(body?.durationMs[key] ?? null)}
            </Stat>
          ))}
        </dl>
      </PanelSection>
      <PanelSection title="Recent failures">
        <FailureList failures={body?.recentFailures ?? null} serverNow={serverNow} />
      </PanelSection>
    </>
  );
}
