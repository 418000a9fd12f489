import type { JSX } from 'preact';
import type { Durations, EventOverview } from '../../../server/dashboard/protocol.js';
import { RetireButtons } from '../../actions/subject-actions.js';
import type { EventDetail } from '../../api/decode-event.js';
import { HistoryChart } from '../../charts/history-chart.js';
import { formatDuration, formatPercentile } from '../../format/duration.js';
import { Count } from '../../shared/counts.js';
import { type DataRow, DataTable } from '../../shared/data-table.js';
import { PanelSection } from '../../shared/view-section.js';
import type { Loaded } from '../../state/loader.js';
import type { Monitor } from '../../state/monitor.js';
import type { Navigation } from '../../state/navigation.js';

const HEIGHT = 88;

export interface TypeChartProps {
  readonly detail: Loaded<EventDetail> | null;
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** Chart of one event type. */
export function TypeChart({ detail, monitor, navigation }: TypeChartProps): JSX.Element {
  const { hubNow } = monitor.store.reading.value;
  const { kind } = monitor.connection.value;
  // The details are loaded after the overview, so they have counted for longer.
  const now = kind === 'live' || kind === 'slow' ? Math.max(hubNow, monitor.serverNow.value) : hubNow;
  return (
    <section class="panel-section">
      <HistoryChart
        histories={detail?.body?.histories}
        now={now}
        monitor={monitor}
        navigation={navigation}
        heading="h3"
        scope=" of this type"
        height={HEIGHT}
      />
    </section>
  );
}

const NONE: Durations = { p50: null, p95: null, p99: null, max: null };

/** Section with the percentiles of waiting and running times. `body` is `null` before the first response. */
export function Percentiles({ body }: { body: EventDetail | null }): JSX.Element {
  const rows: readonly (readonly [name: string, durations: Durations | undefined])[] = [
    ['Waiting, 5 min', body?.waitMs.last5Min],
    ['Waiting, 1 h', body?.waitMs.lastHour],
    ['Running, 5 min', body?.durationMs.last5Min],
    ['Running, 1 h', body?.durationMs.lastHour],
  ];
  return (
    <PanelSection title="Durations">
      <DataTable
        caption="Durations"
        columns={['Time', 'p50', 'p95', 'p99', 'Max']}
        // The maximum is exact.
        rows={rows.map(([name, { p50, p95, p99, max } = NONE]) => [
          name,
          ...[p50, p95, p99].map(formatPercentile),
          formatDuration(max),
        ])}
      />
    </PanelSection>
  );
}

type Service = NonNullable<EventOverview['services']>[number];

/** Section with the counts per service, for types that several services handle. */
export function ServiceTable({ services }: { services: readonly Service[] }): JSX.Element {
  return (
    <PanelSection title="Services">
      <DataTable
        caption="Counts per service"
        columns={['Service', 'Received', 'Completed', 'Failed']}
        rows={services.map((service): DataRow => {
          const { received, completed, failed } = service.metrics;
          return [
            rowName(service),
            ...[received, completed, failed].map((count, index) => <Count key={index} value={count} />),
          ];
        })}
      />
      <RetireButtons services={services.filter(({ processes }) => processes === 0)} />
    </PanelSection>
  );
}

/** Returns the name of a service, with a warning if events wait for it and it has no process. */
function rowName({ service, processes, metrics: { pending } }: Service): string {
  return processes === 0 && pending > 0 ? `${service} (no process, ${pending} pending)` : service;
}
