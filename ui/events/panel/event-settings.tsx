import type { JSX } from 'preact';
import type { EventBody, EventIntrospection, EventSettings as Settings } from '../../../server/dashboard/protocol.js';
import { UNKNOWN } from '../../format/count.js';
import { formatDuration } from '../../format/duration.js';
import { PanelSection } from './panel-section.js';

export interface EventSettingsProps {
  readonly event: EventIntrospection;
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

function settingsOf({ agent }: EventIntrospection, settings: Settings | undefined): [label: string, value: string][] {
  const model: [string, string][] = agent === undefined ? [] : [['Model', agent.model]];
  if (settings === undefined) return [...model, ['Retry', UNKNOWN]];
  const { timeoutMs, concurrency, rate, dedupeWindowMs } = settings;
  const dedupe: [string, string][] =
    dedupeWindowMs === undefined ? [] : [['Deduplication', formatDuration(dedupeWindowMs)]];
  return [
    ...model,
    ['Retry', retryText(settings)],
    ['Timeout', timeoutMs === undefined ? 'none' : formatDuration(timeoutMs)],
    ['Concurrency', concurrency === undefined ? 'shared' : String(concurrency)],
    ['Rate', rate === undefined ? 'unlimited' : `${rate.max} per ${formatDuration(rate.perMs)}`],
    ...dedupe,
  ];
}

function retryText({ retry }: Settings): string {
  if (retry === undefined || retry.maxAttempts === 1) return 'none: one attempt';
  const { maxAttempts, initialDelayMs, maxDelayMs, factor, jitter } = retry;
  const delays = `${formatDuration(initialDelayMs)} to ${formatDuration(maxDelayMs)}, ×${factor}`;
  return `${maxAttempts} attempts, ${delays}${jitter ? ', jitter' : ''}`;
}
