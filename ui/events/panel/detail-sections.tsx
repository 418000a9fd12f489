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
  /** `null` before the first answer: the sections then stand empty, so that nothing moves when it comes. */
  readonly body: EventBody | null;
  /** Epoch milliseconds on the server's clock. */
  readonly serverNow: number;
}

/** What only the type's own route tells: the last hour, durations, recent failures. */
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
