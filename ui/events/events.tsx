import type { JSX, RefObject } from 'preact';
import { Icon } from '../controls/icon.js';
import { formatPeriod } from '../format/clock-time.js';
import { formatCount } from '../format/count.js';
import type { Monitor } from '../polling/monitor.js';
import type { Navigation } from '../routing/navigation.js';
import type { Filter } from '../routing/route.js';
import { EmptyState } from '../shared/views/empty-state.js';
import { TableSkeleton } from '../shared/views/table-skeleton.js';
import { listRows } from '../store/rows/event-list.js';
import { FilterChips } from './filter-chips.js';
import { NothingRegistered } from './nothing-registered.js';
import { SearchBox } from './search-box.js';
import { EventTable } from './table/event-table.js';
import { GroupButtons } from './table/group-buttons.js';
import { SortSelect } from './table/sort-select.js';
import type { RowFocus } from './table/use-row-focus.js';

export interface EventsProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
  readonly searchRef: RefObject<HTMLInputElement | null>;
  readonly focusRef: RefObject<RowFocus | null>;
}

/** View of the event types: search, filters, and the table or a placeholder. */
export function Events({ monitor, navigation, searchRef, focusRef }: EventsProps): JSX.Element {
  const { store } = monitor;
  const rows = store.rows.value;
  const route = navigation.route.value;
  const isEmpty = store.hub.value !== null && rows.size === 0;
  const search = (q: string): void => navigation.go({ q }, { replace: true });
  /** Opens the request of an id that is no part of a type's name. */
  const lookUp = (text: string): void => {
    if (!couldBeId(text)) return;
    if (listRows(rows.values(), { ...route, q: text, show: 'all' }, store.reading.value).length === 0) {
      navigation.go({ view: 'requests', name: text.trim(), q: '' });
    }
  };
  return (
    <section class="events" aria-labelledby="events-title">
      <h2 id="events-title" class="visually-hidden" tabIndex={-1}>
        Events
      </h2>
      {!isEmpty && (
        <div class="toolbar">
          <SearchBox value={route.q} inputRef={searchRef} onChange={search} onEnter={lookUp} />
          <FilterChips
            value={route.show}
            counts={store.hub.value && store.byFilter.value}
            onChange={(show) => navigation.go({ show })}
          />
          <RangeChip monitor={monitor} navigation={navigation} />
          <SortSelect navigation={navigation} />
          <GroupButtons rows={rows} navigation={navigation} />
        </div>
      )}
      <EventsBody monitor={monitor} navigation={navigation} focusRef={focusRef} />
    </section>
  );
}

/** Period that is selected in the chart, with a button that clears it. Absent if none is. */
function RangeChip({ monitor, navigation }: Pick<EventsProps, 'monitor' | 'navigation'>): JSX.Element | null {
  const { selection } = navigation.route.value;
  if (selection === null) return null;
  const period = formatPeriod(selection.from, selection.to, monitor.serverNow.value);
  return (
    <button
      type="button"
      class="chip range-chip"
      title="Show the last minutes again"
      onClick={() => navigation.go({ selection: null })}
    >
      {period}
      <span class="visually-hidden">: clear the selected period</span>
      <Icon name="close" />
    </button>
  );
}

function EventsBody({ monitor, navigation, focusRef }: Omit<EventsProps, 'searchRef'>): JSX.Element {
  const { store } = monitor;
  const reading = store.reading.value;
  if (store.hub.value === null) return <TableSkeleton />;
  const rows = store.rows.value;
  if (rows.size === 0) return <NothingRegistered />;
  const route = navigation.route.value;
  const order = listRows(rows.values(), route, reading);
  if (order.length > 0) {
    return <EventTable store={store} order={order} navigation={navigation} focusRef={focusRef} />;
  }
  const goodNews = route.q.trim() === '' ? GOOD_NEWS.get(route.show) : undefined;
  return (
    <EmptyState title={goodNews ?? 'No event types match.'}>
      <p>
        0 of {formatCount(rows.size)} event {rows.size === 1 ? 'type' : 'types'} match the search and the filter.
      </p>
      <div class="empty-actions">
        {couldBeId(route.q) && (
          <button
            type="button"
            class="button"
            onClick={() => navigation.go({ view: 'requests', name: route.q.trim(), q: '' })}
          >
            Look up as an event or request id
          </button>
        )}
        <button type="button" class="button" onClick={() => navigation.go({ q: '', show: 'all' })}>
          Clear filters
        </button>
      </div>
    </EmptyState>
  );
}

/** Returns true for a text that may be an id: 8 characters or more, without spaces. */
function couldBeId(text: string): boolean {
  return /^\S{8,}$/.test(text.trim());
}

const GOOD_NEWS = new Map<Filter, string>([
  ['failing', 'Nothing is failing.'],
  ['problems', 'Nothing needs attention.'],
]);
