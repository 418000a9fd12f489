import type { JSX } from 'preact';
import type { Durations, EventBody } from '../../../../server/dashboard/protocol.js';
import { formatDuration } from '../../../format/duration.js';
import { PanelSection } from './panel-section.js';

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
