import type { JSX, RefObject } from 'preact';
import { formatCount } from '../format/count.js';
import type { Navigation } from '../routing/navigation.js';
import { EmptyState } from '../shared/empty-state.js';
import { TableSkeleton } from '../shared/table-skeleton.js';
import { listRows } from '../store/event-list.js';
import type { HubStore } from '../store/hub-store.js';
import { subscribeTo } from '../store/subscribe-to.js';
import { FilterChips } from './filter-chips.js';
import { NothingRegistered } from './nothing-registered.js';
import { SearchBox } from './search-box.js';
import { EventTable } from './table/event-table.js';
import type { RowFocus } from './table/use-row-focus.js';

export interface EventsProps {
  readonly store: HubStore;
  readonly navigation: Navigation;
  readonly searchRef: RefObject<HTMLInputElement | null>;
  readonly focusRef: RefObject<RowFocus | null>;
}

/** View of the event types: search, filters, and the table or a placeholder. */
export function Events({ store, navigation, searchRef, focusRef }: EventsProps): JSX.Element {
  const rows = store.rows.value;
  const route = navigation.route.value;
  const isEmpty = store.hub.value !== null && rows.size === 0;
  const search = (q: string): void => navigation.go({ q }, { replace: true });
  return (
    <section class="events" aria-labelledby="events-title">
      <h2 id="events-title" class="section-title" tabIndex={-1}>
        Events
      </h2>
      {!isEmpty && (
        <div class="toolbar">
          <SearchBox value={route.q} inputRef={searchRef} onChange={search} />
          <FilterChips
            value={route.show}
            counts={store.hub.value && store.byFilter.value}
            onChange={(show) => navigation.go({ show })}
          />
          <button
            type="button"
            class="chip chip-group"
            aria-pressed={route.group === 'prefix'}
            title="The prefix is the part of a name before its first . : or /"
            onClick={() => navigation.go({ group: route.group === 'prefix' ? 'none' : 'prefix', closed: [] })}
          >
            Group by prefix
          </button>
        </div>
      )}
      <EventsBody store={store} navigation={navigation} focusRef={focusRef} />
    </section>
  );
}

function EventsBody({ store, navigation, focusRef }: Omit<EventsProps, 'searchRef'>): JSX.Element {
  subscribeTo(store.reading);
  if (store.hub.value === null) return <TableSkeleton />;
  const rows = store.rows.value;
  if (rows.size === 0) return <NothingRegistered />;
  const order = listRows(rows.values(), navigation.route.value);
  if (order.length > 0) {
    return <EventTable rows={rows} order={order} navigation={navigation} focusRef={focusRef} />;
  }
  return (
    <EmptyState title="No event types match.">
      <p>
        0 of {formatCount(rows.size)} event {rows.size === 1 ? 'type' : 'types'} match the search and the filter.
      </p>
      <button type="button" class="button" onClick={() => navigation.go({ q: '', show: 'all' })}>
        Clear filters
      </button>
    </EmptyState>
  );
}
