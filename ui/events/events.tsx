import type { JSX, RefObject } from 'preact';
import { formatPeriod } from '../format/clock-time.js';
import { counted, formatCount } from '../format/number.js';
import { Select } from '../shared/choices.js';
import { Snippet } from '../shared/copy-button.js';
import { Icon } from '../shared/icon.js';
import { EmptyState, TableSkeleton } from '../shared/view-section.js';
import type { EventRow } from '../state/event-row.js';
import type { HubStore } from '../state/hub-store.js';
import type { Monitor } from '../state/monitor.js';
import {
  FILTERS,
  type Filter,
  firstDirection,
  type Navigation,
  type Route,
  SORT_KEYS,
  VIEW_LABEL,
} from '../state/navigation.js';
import { columnOf } from './event-columns.js';
import type { RowFocus } from './event-focus.js';
import { prefixOf } from './event-groups.js';
import { listRows } from './event-list.js';
import { EventTable } from './event-table.js';

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
  /** Opens the place of a text that is no part of a type's name. */
  const lookUp = (text: string): void => {
    const place = placeOf(store, text);
    if (place === null) return;
    if (listRows(rows.values(), { ...route, q: text, show: 'all' }, store.reading.value).length === 0) {
      navigation.go(place);
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
    <button type="button" class="chip range-chip" onClick={() => navigation.go({ selection: null })}>
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
  const other = placeOf(store, route.q);
  const isSearch = route.q.trim() !== '';
  const goodNews = isSearch ? undefined : GOOD_NEWS.get(route.show);
  return (
    <EmptyState title={goodNews ?? 'No event types match.'}>
      <p>
        0 of {counted(rows.size, 'event type')} match the {isSearch ? 'search' : 'filter'}
        {isSearch && route.show !== 'all' && ' and the filter'}.
      </p>
      <div class="action-row">
        {other !== null && (
          <button type="button" class="button" onClick={() => navigation.go(other)}>
            {other.view === 'requests' ? 'Look up as an event or request id' : `Show it in ${VIEW_LABEL[other.view]}`}
          </button>
        )}
        <button type="button" class="button" onClick={() => navigation.go({ q: '', show: 'all' })}>
          Clear filters
        </button>
      </div>
    </EmptyState>
  );
}

/**
 * Returns the view of a workflow, an agent or a schedule of this name, or the request of what may be an id: 8 characters or
 * more, without spaces. `null` for another text.
 */
function placeOf(store: HubStore, text: string): Pick<Route, 'view' | 'name' | 'q'> | null {
  const name = text.trim();
  const views = ['workflows', 'agents', 'schedules'] as const;
  const view =
    views.find((each) => store[each].value.some((item) => item.name === name)) ??
    (/^\S{8,}$/.test(name) ? 'requests' : undefined);
  return view === undefined ? null : { view, name, q: '' };
}

const GOOD_NEWS = new Map<Filter, string>([
  ['failing', 'Nothing is failing.'],
  ['problems', 'Nothing needs attention.'],
]);

export interface SearchBoxProps {
  readonly value: string;
  readonly inputRef: RefObject<HTMLInputElement | null>;
  readonly onChange: (value: string) => void;
  /** Called with the text if the user presses Enter. */
  readonly onEnter: (value: string) => void;
}

function SearchBox({ value, inputRef, onChange, onEnter }: SearchBoxProps): JSX.Element {
  return (
    <div class="search">
      <label class="visually-hidden" for="search">
        Search event types
      </label>
      <Icon name="search" />
      <input
        id="search"
        ref={inputRef}
        type="search"
        aria-keyshortcuts="/"
        placeholder="Search event types"
        autocomplete="off"
        spellcheck={false}
        value={value}
        onKeyDown={({ key, currentTarget }) => {
          if (key === 'Enter') onEnter(currentTarget.value);
        }}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <kbd>/</kbd>
    </div>
  );
}

const LABEL: Record<Filter, string> = {
  all: 'All',
  problems: 'Needs attention',
  failing: 'Failing',
  active: 'Active',
  idle: 'Idle',
  never: 'Never seen',
};

export interface FilterChipsProps {
  readonly value: Filter;
  /** Number of types per filter; `null` before the first response. */
  readonly counts: Readonly<Record<Filter, number>> | null;
  readonly onChange: (value: Filter) => void;
}

/** Filters of the table by status, with the number of types in each. In little width they are a select box. */
function FilterChips({ value, counts, onChange }: FilterChipsProps): JSX.Element {
  return (
    <>
      <fieldset class="chips">
        <legend class="visually-hidden">Show event types</legend>
        {FILTERS.map((filter) => (
          <button
            key={filter}
            type="button"
            class={`chip is-${filter}`}
            aria-pressed={filter === value}
            data-any={counts !== null && counts[filter] > 0}
            onClick={() => onChange(filter)}
          >
            {LABEL[filter]} {counts && <span class="chip-count">{formatCount(counts[filter])}</span>}
          </button>
        ))}
      </fieldset>
      <div class="filter-select">
        <Select
          label="Show event types"
          options={FILTERS}
          nameOf={(filter) => `${LABEL[filter]}${counts === null ? '' : ` (${formatCount(counts[filter])})`}`}
          value={value}
          onChange={onChange}
        />
      </div>
    </>
  );
}

/** Sort order of the table as a select box, for widths at which the table has no column headers. */
function SortSelect({ navigation }: { navigation: Navigation }): JSX.Element {
  return (
    <div class="sort-select">
      <Select
        label="Sort by"
        options={SORT_KEYS}
        nameOf={(key) => columnOf(key).label}
        value={navigation.route.value.sort}
        onChange={(sort) => navigation.go({ sort, dir: firstDirection(sort) })}
      />
    </div>
  );
}

export interface GroupButtonsProps {
  readonly rows: ReadonlyMap<string, EventRow>;
  readonly navigation: Navigation;
}

/** Buttons that group the table by prefix, and that collapse or expand all groups. */
function GroupButtons({ rows, navigation }: GroupButtonsProps): JSX.Element {
  const { group, closed } = navigation.route.value;
  const isGrouped = group === 'prefix';
  return (
    <span class="group-buttons">
      {isGrouped && (
        <button
          type="button"
          class="chip"
          onClick={() => navigation.go({ closed: closed.length > 0 ? [] : prefixesOf(rows) }, { replace: true })}
        >
          {closed.length > 0 ? 'Expand all' : 'Collapse all'}
        </button>
      )}
      <button
        type="button"
        class="chip"
        aria-pressed={isGrouped}
        onClick={() => navigation.go({ group: isGrouped ? 'none' : 'prefix', closed: [] })}
      >
        Group by prefix
      </button>
    </span>
  );
}

function prefixesOf(rows: ReadonlyMap<string, EventRow>): readonly string[] {
  return [...new Set([...rows.keys()].map(prefixOf))];
}

const SNIPPET = `hub.event({
  type: 'order.created',
  handler: ({ payload, logger }) => logger.info(payload, 'order received'),
});

await hub.emit('order.created', { id: 1 });`;

/** Placeholder for a hub without event types, with example code. */
function NothingRegistered(): JSX.Element {
  return (
    <EmptyState title="No event types yet">
      <p>Register an event type and emit an event:</p>
      <Snippet code={SNIPPET} />
      <p>Hubs on another server, prefix, schema or file are not here.</p>
    </EmptyState>
  );
}
