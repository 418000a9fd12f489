import type { JSX } from 'preact';
import type { Durations, EventBody, EventOverview } from '../../../server/dashboard/protocol.js';
import { RetireButtons } from '../../actions/subject-actions.js';
import { ChartOptions, ChartTable, chartTitle } from '../../charts/chart-table.js';
import { dayBefore, historyOfRange, historyPoints, RANGE_LABEL, rangeToShow } from '../../charts/history-points.js';
import { releaseMarks } from '../../charts/release-marks.js';
import { TimeChart } from '../../charts/time-chart.js';
import { formatDuration, formatPercentile } from '../../format/duration.js';
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
  const { chart, yesterday, range: chosen } = navigation.route.value;
  const histories = detail?.body?.histories;
  const range = histories === undefined ? '1h' : rangeToShow(chosen, histories, now, startedAt);
  const points = histories === undefined ? [] : historyPoints(historyOfRange(histories, range), now, startedAt);
  const before = histories === undefined ? [] : dayBefore(points, histories, now, startedAt);
  const title = chartTitle(chart, points);
  return (
    <section class="panel-section">
      <div class="chart-head">
        <h3>{title}</h3>
        <ChartOptions
          navigation={navigation}
          unit={title}
          range={range}
          hasYesterday={before.some((point) => point !== undefined)}
          onRange={(next) => navigation.go({ range: next }, { replace: true })}
        />
      </div>
      <TimeChart
        label={`${title} of this type, last ${RANGE_LABEL[range]}`}
        points={points}
        now={now}
        isLive={isLive}
        height={HEIGHT}
        mode={chart}
        marks={releaseMarks(monitor.store.releases.value)}
        yesterday={yesterday ? before : []}
      />
      <ChartTable caption={`Events of this type, last ${RANGE_LABEL[range]}`} points={points} now={now} />
    </section>
  );
}

// The maximum is exact.
const PERCENTILES: readonly (readonly [key: keyof Durations, label: string, format: typeof formatDuration])[] = [
  ['p50', 'p50', formatPercentile],
  ['p95', 'p95', formatPercentile],
  ['p99', 'p99', formatPercentile],
  ['max', 'Max', formatDuration],
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
              {PERCENTILES.map(([key, , format]) => (
                <td key={key}>{format(durations?.[key] ?? null)}</td>
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
      <RetireButtons services={services.filter(({ processes }) => processes === 0)} />
    </PanelSection>
  );
}

/** Returns the name of a service, with a warning if events wait for it and it has no process. */
function rowName({ service, processes, metrics: { pending } }: Service): string {
  return processes === 0 && pending > 0 ? `${service} (no process, ${pending} pending)` : service;
}
