import type { ComponentChildren, JSX } from 'preact';
import { Icon } from '../../controls/icon.js';
import type { Loaded } from '../../polling/loader.js';
import type { Monitor } from '../../polling/monitor.js';
import type { View } from '../../routing/route.js';
import { EmptyState } from './empty-state.js';
import { TableSkeleton } from './table-skeleton.js';
import { ViewSection } from './view-section.js';

export interface LoadedViewProps<T> {
  readonly view: View;
  readonly monitor: Monitor;
  readonly data: Loaded<T> | null;
  /** Content beside the title. */
  readonly aside?: ComponentChildren;
  /** Returns true if there is nothing to show. */
  readonly isEmpty: (body: T) => boolean;
  readonly emptyTitle: string;
  /** Reason or next step for an empty view. */
  readonly hint: ComponentChildren;
  readonly children: (body: T) => ComponentChildren;
}

/** View whose data is loaded while it is open. */
export function LoadedView<T>({
  view,
  monitor,
  data,
  aside,
  isEmpty,
  emptyTitle,
  hint,
  children,
}: LoadedViewProps<T>): JSX.Element {
  return (
    <ViewSection view={view} store={monitor.store} aside={aside} isEmpty={false} hint="">
      <LoadedContent monitor={monitor} data={data} isEmpty={isEmpty} emptyTitle={emptyTitle} hint={hint}>
        {children}
      </LoadedContent>
    </ViewSection>
  );
}

/** Content that is loaded while it is shown, with a placeholder before and for nothing, and a notice after a failure. */
export function LoadedContent<T>({
  monitor,
  data,
  isEmpty,
  emptyTitle,
  hint,
  children,
}: Omit<LoadedViewProps<T>, 'view' | 'aside'>): JSX.Element {
  if (data === null || data.body === null) {
    if (monitor.connection.value.kind === 'snapshot') {
      return (
        <EmptyState title="Not in the snapshot">
          <p>A snapshot contains counts, but no waits, processes or runs of agents.</p>
        </EmptyState>
      );
    }
    return data?.error ? <Failure message={data.error.message} /> : <TableSkeleton />;
  }
  const { body, error } = data;
  return (
    <>
      {error !== null && <Failure message={`${error.message} The data is from the last successful response.`} />}
      {isEmpty(body) ? (
        <EmptyState title={emptyTitle}>
          <p>{hint}</p>
        </EmptyState>
      ) : (
        children(body)
      )}
    </>
  );
}

function Failure({ message }: { message: string }): JSX.Element {
  return (
    <p class="panel-notice">
      <Icon name="triangle" /> {message}
    </p>
  );
}
