import type { JSX } from 'preact';
import type { Durations, EventBody, EventOverview } from '../../../server/dashboard/protocol.js';
import { ChartTable, RangePicker } from '../../charts/chart-table.js';
import { historyOfRange, historyPoints, perSecond, RANGE_LABEL } from '../../charts/history-points.js';
import { TimeChart } from '../../charts/time-chart.js';
import { formatDuration } from '../../format/duration.js';
import { TallyTable } from '../../shared/counts.js';
import { PanelSection } from '../../shared/view-section.js';
import type { Loaded } from '../../state/loader.js';
import type { Monitor } from '../../state/monitor.js';
import type { Navigation } from '../../state/navigation.js';

const HEIGHT = 88;

export interface TypeChartProps {
  readonly detail: Loaded<EventBody> | null;
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** Chart of one event type. */
export function TypeChart({ detail, monitor, navigation }: TypeChartProps): JSX.Element {
  const { hubNow, startedAt } = monitor.store.reading.value;
  const { kind } = monitor.connection.value;
  const isLive = kind === 'live' || kind === 'slow';
  // The details are loaded after the overview, so they have counted for longer.
  const now = isLive ? Math.max(hubNow, monitor.serverNow.value) : hubNow;
  const { range } = navigation.route.value;
  const histories = detail?.body?.histories;
  const points = histories === undefined ? [] : historyPoints(historyOfRange(histories, range), now, startedAt);
  const title = `Events per ${points.some((point) => perSecond(point.received, point) >= 1) ? 'second' : 'minute'}`;
  return (
    <section class="panel-section">
      <div class="chart-head">
        <h3>{title}</h3>
        <RangePicker value={range} onChange={(next) => navigation.go({ range: next }, { replace: true })} />
      </div>
      <TimeChart
        label={`${title} of this type, last ${RANGE_LABEL[range]}`}
        points={points}
        now={now}
        isLive={isLive}
        height={HEIGHT}
      />
      <ChartTable caption={`Events of this type, last ${RANGE_LABEL[range]}`} points={points} now={now} />
    </section>
  );
}

const PERCENTILES: readonly (readonly [key: keyof Durations, label: string])[] = [
  ['p50', 'p50'],
  ['p95', 'p95'],
  ['p99', 'p99'],
  ['max', 'Max'],
];

/** Section with the percentiles of waiting and running times. `body` is `null` before the first response. */
export function Percentiles({ body }: { body: EventBody | null }): JSX.Element {
  const rows: readonly (readonly [name: string, durations: Durations | undefined])[] = [
    ['Waiting, 5 min', body?.waitMs.last5Min],
    ['Waiting, 1 h', body?.waitMs.lastHour],
    ['Running, 5 min', body?.durationMs.last5Min],
    ['Running, 1 h', body?.durationMs.lastHour],
  ];
  return (
    <PanelSection title="Durations">
      <table class="data-table percentiles">
        <caption class="visually-hidden">Percentiles of waiting and running times</caption>
        <thead>
          <tr>
            {['Time', ...PERCENTILES.map(([, label]) => label)].map((label) => (
              <th key={label} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, durations]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {PERCENTILES.map(([key]) => (
                <td key={key}>{formatDuration(durations?.[key] ?? null)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </PanelSection>
  );
}

type Service = NonNullable<EventOverview['services']>[number];

/** Section with the counts per service, for types that several services handle. */
export function ServiceTable({ services }: { services: readonly Service[] }): JSX.Element {
  return (
    <PanelSection title="Services">
      <TallyTable
        caption="Counts per service"
        head="Service"
        rows={services.map((service) => ({ ...service.metrics, name: rowName(service) }))}
      />
    </PanelSection>
  );
}

/** Returns the name of a service, with a warning if events wait for it and it has no process. */
function rowName({ service, processes, metrics: { pending } }: Service): string {
  return processes === 0 && pending > 0 ? `${service} (no process, ${pending} pending)` : service;
}
