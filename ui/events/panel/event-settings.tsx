import type { JSX } from 'preact';
import type { EventIntrospection } from '../../../server/dashboard/protocol.js';
import { formatDuration } from '../../format/duration.js';
import { PanelSection } from './panel-section.js';

/** Section with the settings of an event type. */
export function EventSettings({ event }: { event: EventIntrospection }): JSX.Element {
  return (
    <PanelSection title="Settings">
      <dl class="facts">
        {settingsOf(event).map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </PanelSection>
  );
}

function settingsOf(event: EventIntrospection): [label: string, value: string][] {
  const { kind, agent, timeoutMs, concurrency, rate } = event;
  const settings: [string, string][] = [['Kind', kind === 'declared' ? 'declared, without a handler' : kind]];
  if (agent !== undefined) settings.push(['Model', agent.model]);
  settings.push(
    ['Retry', retryText(event)],
    ['Timeout', timeoutMs === undefined ? 'none' : formatDuration(timeoutMs)],
    ['Concurrency', concurrency === undefined ? 'shared' : String(concurrency)],
    ['Rate', rate === undefined ? 'unlimited' : `${rate.max} per ${formatDuration(rate.perMs)}`],
  );
  return settings;
}

function retryText({ retry }: EventIntrospection): string {
  if (retry === undefined || retry.maxAttempts === 1) return 'none: one attempt';
  const { maxAttempts, initialDelayMs, maxDelayMs, factor, jitter } = retry;
  const delays = `${formatDuration(initialDelayMs)} to ${formatDuration(maxDelayMs)}, ×${factor}`;
  return `${maxAttempts} attempts, ${delays}${jitter ? ', jitter' : ''}`;
}
