import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { EventSummary } from '../../../server/dashboard/protocol.js';
import { formatAge, formatDuration } from '../../format/duration.js';
import { Segments } from '../../shared/choices.js';
import { Icon } from '../../shared/icon.js';
import { IdLink } from '../../shared/links.js';
import { lookOf } from '../../shared/states.js';
import { Ago } from '../../shared/times.js';
import { PanelSection } from '../../shared/view-section.js';
import { useBounded } from '../../shared/view-table.js';

export interface RecentEventsProps {
  /** Newest events, newest first. */
  readonly newest: readonly EventSummary[];
  /** Newest failed events, newest first. */
  readonly failed: readonly EventSummary[];
  /** Current time in epoch milliseconds on the server's clock. */
  readonly serverNow: number;
  /** Query that links retain. */
  readonly query: string;
}

/** Number of events that are shown before the user asks for all. */
const SHOWN = 8;

const LISTS = ['newest', 'failed'] as const;
const LIST_LABEL: Record<(typeof LISTS)[number], string> = { newest: 'Newest', failed: 'Failed' };

/** Section with the newest events of a type, first those that run. Each links to its request. Absent if none is retained. */
export function RecentEvents({ newest, failed, serverNow, query }: RecentEventsProps): JSX.Element | null {
  const [list, setList] = useState<(typeof LISTS)[number]>('newest');
  const isRunning = ({ status }: EventSummary): number => Number(status === 'active');
  const events = list === 'newest' ? [...newest].sort((a, b) => isRunning(b) - isRunning(a)) : failed;
  const [shown, button] = useBounded(events, SHOWN, 'events');
  if (newest.length + failed.length === 0) return null;
  return (
    <PanelSection title="Recent events">
      <Segments
        label="Events to list"
        options={LISTS}
        nameOf={(option) => LIST_LABEL[option]}
        value={list}
        onChange={setList}
      />
      {events.length === 0 && <p class="muted">None.</p>}
      <ul class="recent-events" aria-label="Recent events">
        {shown.map((event) => (
          <RecentEvent key={`${event.service} ${event.id}`} event={event} serverNow={serverNow} query={query} />
        ))}
      </ul>
      {button}
    </PanelSection>
  );
}

interface RecentEventProps {
  readonly event: EventSummary;
  readonly serverNow: number;
  readonly query: string;
}

function RecentEvent({ event, serverNow, query }: RecentEventProps): JSX.Element {
  const { id, kind, status, attempt, acceptedAt, startedAt, waitMs, runMs, error, causeId } = event;
  const [icon, label, tone] = lookOf(status);
  const facts = [
    error && (error.message || error.name),
    status === 'active' && startedAt !== undefined && `running for ${formatAge(serverNow - startedAt)}`,
    waitMs !== undefined && `waited ${formatDuration(waitMs)}`,
    runMs !== undefined && `ran ${formatDuration(runMs)}`,
    attempt > 1 && `attempt ${attempt}`,
  ].filter(Boolean);
  return (
    <li>
      <span class={`state is-${tone}`} title={label}>
        <Icon name={icon} />
        {facts.length > 0 && <span class="visually-hidden">{label}</span>}
      </span>
      <IdLink id={id} name={kind === 'workflow' ? 'run' : 'event'} query={query} />
      <span class="recent-facts" title={facts.join(', ')}>
        {facts.join(', ') || label.toLowerCase()}
        {causeId !== undefined && <span>, caused by {causeId.slice(0, 8)}</span>}
      </span>
      <Ago at={acceptedAt} now={serverNow} />
    </li>
  );
}
