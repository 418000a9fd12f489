import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { Detail } from '../../polling/event-detail.js';
import type { Monitor } from '../../polling/monitor.js';
import type { Navigation } from '../../routing/navigation.js';
import { CopyButton } from '../../shared/copy-button.js';
import { CountStats } from '../../shared/count-stats.js';
import { Icon } from '../../shared/icon.js';
import { IconButton } from '../../shared/icon-button.js';
import type { EventRow } from '../../store/event-row.js';
import { StatusBadge } from '../table/status-badge.js';
import { DetailSections } from './detail-sections.js';
import { EventSettings } from './event-settings.js';
import { KindTag } from './kind-tag.js';
import { PanelSection } from './panel-section.js';
import { ServiceTable } from './service-table.js';
import { Triggers } from './triggers.js';
import { usePanelFocus } from './use-panel-focus.js';

export interface EventPanelProps {
  readonly type: string;
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** Panel with the details of one event type. */
export function EventPanel({ type, monitor, navigation }: EventPanelProps): JSX.Element {
  const panel = useRef<HTMLElement>(null);
  const title = useRef<HTMLHeadingElement>(null);
  usePanelFocus(panel, title, type);
  const { store } = monitor;
  const row = store.rows.value.get(type);
  const detail = monitor.detail.value?.type === type ? monitor.detail.value : null;
  return (
    <aside ref={panel} class="panel" aria-labelledby="panel-title">
      <div class="panel-head">
        <h2 id="panel-title" class="panel-title" ref={title} tabIndex={-1} title={type}>
          <bdi>{type}</bdi>
        </h2>
        <IconButton
          icon="close"
          label="Close panel"
          title="Close panel (Esc)"
          onClick={() => navigation.go({ name: null })}
        />
      </div>
      <div class="panel-bar">
        {row && <StatusBadge status={row.view.value.status} />}
        {row && <KindTag event={row.event.value} query={navigation.query.value} />}
        {row?.view.value.restarted && <span class="tag is-stale">restarted</span>}
        <span class="panel-actions">
          <CopyButton label="Copy link" icon="link" text={() => location.href} />
          {row && <CopyButton label="Copy JSON" text={() => asJson(row, detail)} />}
        </span>
      </div>
      {row && detail?.error && <PanelNotice detail={detail} />}
      {row && !detail && monitor.connection.value.kind === 'snapshot' && (
        <p class="panel-note muted">The snapshot has no details of this event type.</p>
      )}
      {row && <PanelBody row={row} detail={detail} monitor={monitor} navigation={navigation} />}
      {!row && store.hub.value && <p class="panel-note">No event type with this name is registered.</p>}
    </aside>
  );
}

interface PanelBodyProps extends Omit<EventPanelProps, 'type'> {
  readonly row: EventRow;
  readonly detail: Detail | null;
}

function PanelBody({ row, detail, monitor, navigation }: PanelBodyProps): JSX.Element {
  const event = row.event.value;
  return (
    <>
      {event.description && <p class="panel-description">{event.description}</p>}
      <dl class="stats panel-stats">
        <CountStats
          counters={['received', 'completed', 'failed', 'pending', 'active', 'retried', 'deduplicated', 'processes']}
          counts={{ ...event.metrics, deduplicated: detail?.body?.deduplicated, processes: event.processes }}
        />
      </dl>
      <DetailSections body={detail?.body ?? null} serverNow={monitor.serverNow.value} />
      {event.services && <ServiceTable services={event.services} />}
      <Triggers event={event} store={monitor.store} query={navigation.query.value} />
      <EventSettings event={event} />
      {event.schema && (
        <PanelSection title="Payload schema">
          <pre class="code panel-code">{JSON.stringify(event.schema, null, 2)}</pre>
        </PanelSection>
      )}
    </>
  );
}

function PanelNotice({ detail: { error, body } }: { detail: Detail }): JSX.Element {
  return (
    <p class="panel-notice">
      <Icon name="triangle" />
      <span>
        {error?.message}
        {body && ' The data is from the last successful response.'}
      </span>
    </p>
  );
}

function asJson(row: EventRow, detail: Detail | null): string {
  return JSON.stringify({ ...row.event.value, ...detail?.body }, null, 2);
}
