import type { JSX } from 'preact';
import type { EventOverview, EventSettings as Settings } from '../../../server/dashboard/protocol.js';
import type { EventDetail } from '../../api/decode-event.js';
import { formatDuration } from '../../format/duration.js';
import { UNKNOWN } from '../../format/number.js';
import { Fact } from '../../shared/fact.js';
import { TypeLink } from '../../shared/links.js';
import { PanelSection } from '../../shared/view-section.js';
import type { HubStore } from '../../state/hub-store.js';
import { viewPath } from '../../state/navigation.js';
import { followUpsOf, WHEN_LABEL } from '../../workflows/workflow-summary.js';

export interface EventSettingsProps {
  readonly event: EventOverview;
  /** `null` before the first response. */
  readonly body: EventDetail | null;
  /** Tag of the kind; it links to an agent. */
  readonly kind: JSX.Element;
}

/** Section with the settings of an event type. */
export function EventSettings({ event, body, kind }: EventSettingsProps): JSX.Element {
  return (
    <PanelSection title="Settings">
      <dl class="facts">
        <Fact label="Kind">
          {event.kind === 'handler' ? 'handler' : kind}
          {event.kind === 'declared' && ' without a handler'}
        </Fact>
        {settingsOf(event, body?.settings).map(([label, value]) => (
          <Fact key={label} label={label}>
            {value}
          </Fact>
        ))}
      </dl>
    </PanelSection>
  );
}

/** Returns the settings of a type, of those that most types do not have the set ones alone. */
function settingsOf({ agent }: EventOverview, settings: Settings | undefined): [label: string, value: string][] {
  const found: [string, string][] = agent === undefined ? [] : [['Model', agent.model]];
  if (settings === undefined) return [...found, ['Retry', UNKNOWN]];
  const { timeoutMs, concurrency, rate, hasKey, concurrencyPerKey, debounceMs, debounceMaxMs, limit } = settings;
  found.push(
    ['Retry', retryText(settings)],
    ['Timeout', timeoutMs === undefined ? 'none' : formatDuration(timeoutMs)],
    ['Concurrency', concurrency === undefined ? 'shared' : String(concurrency)],
    ['Rate', rate === undefined ? 'unlimited' : rateText(rate)],
  );
  if (limit !== undefined) found.push(['Limit', limitText(limit)]);
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

function limitText({ name, max = 1, perMs = 1, concurrency }: NonNullable<Settings['limit']>): string {
  return `${name}: ${concurrency === undefined ? rateText({ max, perMs }) : `${concurrency} at once`}`;
}

function retryText({ retry }: Settings): string {
  if (retry === undefined || retry.maxAttempts === 1) return 'none: one attempt';
  const { maxAttempts, initialDelayMs, maxDelayMs, factor, jitter } = retry;
  const delays = `${formatDuration(initialDelayMs)} to ${formatDuration(maxDelayMs)}, ×${factor}`;
  return `${maxAttempts} attempts, ${delays}${jitter ? ', jitter' : ''}`;
}

/** Tag with the kind of an event type that is not a plain handler. It links to an agent. */
export function KindTag({ event, query }: { event: EventOverview; query: string }): JSX.Element | null {
  const { kind, agent } = event;
  if (kind === 'handler') return null;
  if (agent === undefined) return <span class="tag">{kind}</span>;
  return (
    <a class="tag" href={viewPath('agents', agent.name) + query}>
      {kind} {agent.name}
    </a>
  );
}

export interface TriggersProps {
  readonly event: EventOverview;
  readonly store: HubStore;
  /** Query that links retain. */
  readonly query: string;
}

/** Section with the workflows that an event starts and its follow-up events. Absent if there are none. */
export function Triggers({ event, store, query }: TriggersProps): JSX.Element | null {
  const started = store.workflows.value.filter(({ trigger, triggers = [trigger] }) => triggers.includes(event.type));
  const followUps = followUpsOf(event);
  if (started.length + followUps.length === 0) return null;
  return (
    <PanelSection title="Triggers">
      <dl class="facts">
        {started.map(({ name }) => (
          <Fact key={`workflow ${name}`} label="Starts workflow">
            <TypeLink kind="workflow" type={name} query={query} />
          </Fact>
        ))}
        {followUps.map(({ when, type }) => (
          <Fact key={when} label={WHEN_LABEL[when]}>
            <TypeLink type={type} query={query} />
          </Fact>
        ))}
      </dl>
    </PanelSection>
  );
}
