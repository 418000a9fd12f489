import type { JSX } from 'preact';
import type { EventBody, EventOverview, EventSettings as Settings } from '../../../../server/dashboard/protocol.js';
import { UNKNOWN } from '../../../format/count.js';
import { formatDuration } from '../../../format/duration.js';
import { PanelSection } from './panel-section.js';

export interface EventSettingsProps {
  readonly event: EventOverview;
  /** `null` before the first response. */
  readonly body: EventBody | null;
  /** Tag of the kind; it links to an agent. */
  readonly kind: JSX.Element;
}

/** Section with the settings of an event type. */
export function EventSettings({ event, body, kind }: EventSettingsProps): JSX.Element {
  return (
    <PanelSection title="Settings">
      <dl class="facts">
        <div>
          <dt>Kind</dt>
          <dd>
            {event.kind === 'handler' ? 'handler' : kind}
            {event.kind === 'declared' && ' without a handler'}
          </dd>
        </div>
        {settingsOf(event, body?.settings).map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </PanelSection>
  );
}

function settingsOf({ agent }: EventOverview, settings: Settings | undefined): [label: string, value: string][] {
  const model: [string, string][] = agent === undefined ? [] : [['Model', agent.model]];
  if (settings === undefined) return [...model, ['Retry', UNKNOWN]];
  const { timeoutMs, concurrency, rate } = settings;
  return [
    ...model,
    ['Retry', retryText(settings)],
    ['Timeout', timeoutMs === undefined ? 'none' : formatDuration(timeoutMs)],
    ['Concurrency', concurrency === undefined ? 'shared' : String(concurrency)],
    ['Rate', rate === undefined ? 'unlimited' : rateText(rate)],
    ...optionalSettings(settings),
  ];
}

/** Returns the settings that most types do not have. */
function optionalSettings(settings: Settings): [label: string, value: string][] {
  const { hasKey, concurrencyPerKey, debounceMs, debounceMaxMs } = settings;
  const found: [string, string][] = [];
  if (hasKey) found.push(['Key', 'events of a key are processed in order']);
  if (concurrencyPerKey !== undefined) found.push(['Concurrency per key', String(concurrencyPerKey)]);
  if (debounceMs !== undefined) {
    const max = debounceMaxMs === undefined ? '' : `, at most ${formatDuration(debounceMaxMs)}`;
    found.push(['Debounce', formatDuration(debounceMs) + max]);
  }
  return found;
}

function rateText({ max, perMs, perKey }: NonNullable<Settings['rate']>): string {
  return `${max} per ${formatDuration(perMs)}${perKey ? ' and key' : ''}`;
}

function retryText({ retry }: Settings): string {
  if (retry === undefined || retry.maxAttempts === 1) return 'none: one attempt';
  const { maxAttempts, initialDelayMs, maxDelayMs, factor, jitter } = retry;
  const delays = `${formatDuration(initialDelayMs)} to ${formatDuration(maxDelayMs)}, ×${factor}`;
  return `${maxAttempts} attempts, ${delays}${jitter ? ', jitter' : ''}`;
}
