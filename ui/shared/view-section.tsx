import type { ComponentChildren, JSX } from 'preact';
import { viewerTimeZone } from '../format/clock-time.js';
import type { HubStore } from '../state/hub-store.js';
import type { Loaded } from '../state/loader.js';
import type { Monitor } from '../state/monitor.js';
import { VIEW_LABEL, type View } from '../state/navigation.js';
import { Icon } from './icon.js';

export interface ViewSectionProps {
  readonly view: View;
  readonly store: HubStore;
  /** Content beside the title. */
  readonly aside?: ComponentChildren;
  /** The view has times, whose zone stands beside the title. @default false */
  readonly hasTimes?: boolean | undefined;
  /** True if the hub has nothing to show in this view. @default false */
  readonly isEmpty?: boolean;
  /** Name in the URL that the hub does not have; `null` or absent if there is none. */
  readonly unknown?: string | null;
  /** Next step for an empty view. */
  readonly hint?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** View with its title. Shows a placeholder before the first response and for an empty view. */
export function ViewSection({
  view,
  store,
  aside,
  hasTimes = false,
  isEmpty,
  unknown = null,
  hint,
  children,
}: ViewSectionProps): JSX.Element {
  return (
    <section class="view" aria-labelledby={`${view}-title`}>
      <div class="view-head">
        <h2 id={`${view}-title`} class="section-title" tabIndex={-1}>
          {VIEW_LABEL[view]}
        </h2>
        {aside}
        {hasTimes && <span class="panel-period">times in {viewerTimeZone()}</span>}
      </div>
      {store.hub.value !== null && unknown !== null && (
        <p class="panel-notice" role="alert">
          <Icon name="triangle" />
          <span>
            Not found among the {view}: <bdi>{unknown}</bdi>
          </span>
        </p>
      )}
      {store.hub.value === null ? (
        <TableSkeleton />
      ) : isEmpty ? (
        <EmptyState title={`No ${view} yet`}>
          <p>{hint}</p>
        </EmptyState>
      ) : (
        children
      )}
    </section>
  );
}

/** Body of a response, with the time at which it was read in epoch milliseconds. */
interface Dated {
  readonly now: number;
}

export interface LoadedViewProps<T extends Dated> extends Pick<ViewSectionProps, 'view' | 'aside' | 'hasTimes'> {
  readonly monitor: Monitor;
  readonly data: Loaded<T> | null;
  /** Returns true if there is nothing to show. Absent if there always is. */
  readonly isEmpty?: (body: T) => boolean;
  readonly emptyTitle?: string;
  /** Reason or next step for an empty view. */
  readonly hint?: ComponentChildren;
  /** Returns the content. `now` of its body is the current time on the server's clock. */
  readonly children: (body: T) => ComponentChildren;
}

/** View whose data is loaded while it is open. */
export function LoadedView<T extends Dated>({ view, aside, hasTimes, ...content }: LoadedViewProps<T>): JSX.Element {
  return (
    <ViewSection view={view} store={content.monitor.store} aside={aside} hasTimes={hasTimes}>
      <LoadedContent {...content} />
    </ViewSection>
  );
}

/** Content that is loaded while it is shown, with a placeholder before and for nothing, and a notice after a failure. */
export function LoadedContent<T extends Dated>({
  monitor,
  data,
  isEmpty,
  emptyTitle = '',
  hint,
  children,
}: Omit<LoadedViewProps<T>, 'view' | 'aside' | 'hasTimes'>): JSX.Element {
  if (data === null || data.body === null) {
    if (monitor.connection.value.kind === 'snapshot') {
      return (
        <EmptyState title="Not in the snapshot">
          <p>A snapshot has counts, but no waits, processes, requests or runs.</p>
        </EmptyState>
      );
    }
    return data?.error ? <LoadFailure {...data} /> : <TableSkeleton />;
  }
  const { body } = data;
  return (
    <>
      <LoadFailure {...data} />
      {isEmpty?.(body) ? (
        <EmptyState title={emptyTitle}>
          <p>{hint}</p>
        </EmptyState>
      ) : (
        children({ ...body, now: Math.max(body.now, monitor.serverNow.value) })
      )}
    </>
  );
}

/** Notice of a request that failed. */
export function Failure({ message }: { message: string }): JSX.Element {
  return (
    <p class="panel-notice">
      <Icon name="triangle" /> {message}
    </p>
  );
}

/** Notice of the last request of loaded data, if it failed. */
export function LoadFailure({ error, body }: Loaded<unknown>): JSX.Element | null {
  if (error === null) return null;
  const age = body === null ? '' : ' The data is from the last successful response.';
  return <Failure message={error.message + age} />;
}

/** Placeholder for an empty view, with the reason and the next step. */
export function EmptyState({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="empty card">
      <h3>{title}</h3>
      {children}
    </div>
  );
}

/** Placeholder until the first response arrives. */
export function TableSkeleton(): JSX.Element {
  return (
    <div class="card skeleton">
      <p class="visually-hidden">Loading event types.</p>
    </div>
  );
}

export interface PanelSectionProps {
  readonly title: string;
  /** Period of the section's numbers. */
  readonly period?: string;
  readonly children: ComponentChildren;
}

/** Section of the panel with a heading. */
export function PanelSection({ title, period, children }: PanelSectionProps): JSX.Element {
  return (
    <section class="panel-section">
      <h3>
        {title}
        {period && <span class="panel-period"> {period}</span>}
      </h3>
      {children}
    </section>
  );
}
