import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { wellFormed } from '../api/api.js';

/** Current route, stored in the URL's hash. */
export interface Navigation {
  readonly route: ReadonlySignal<Route>;
  /** Event type whose panel is open. */
  readonly openType: ReadonlySignal<string | null>;
  /** Id of the open request, or of the event of it that is selected. */
  readonly openRequest: ReadonlySignal<string | null>;
  /** Tag whose events are listed. */
  readonly openTag: ReadonlySignal<string | null>;
  /** Workflow whose runs are open. */
  readonly openWorkflow: ReadonlySignal<string | null>;
  /** Changes parts of the route. With `replace`, the browser's history gets no new entry. */
  go(change: Partial<Route>, options?: { readonly replace?: boolean }): void;
  /** Text that the search view begins with. No URL and no entry of the history has it: it may be a private tag. */
  readonly searchText: Signal<string>;
  /** Query that links within the page retain. */
  readonly query: ReadonlySignal<string>;
  /** Stops following the URL. */
  stop(): void;
}

export function createNavigation(window: Window): Navigation {
  const route = signal(parseRoute(window.location.hash));
  const follow = (): void => {
    const { hash } = window.location;
    if (hash === '' || hash.startsWith('#/')) route.value = parseRoute(hash);
    // A link to an element, such as the skip link, has moved the focus. Restore the route.
    else window.history.replaceState(null, '', formatRoute(route.value));
  };
  window.addEventListener('hashchange', follow);
  return {
    route,
    openType: computed(() => (route.value.view === 'events' || route.value.view === 'flow' ? route.value.name : null)),
    openRequest: computed(() => (route.value.view === 'requests' ? route.value.name : null)),
    openTag: computed(() => (route.value.view === 'tagged' ? route.value.name : null)),
    searchText: signal(''),
    query: computed(() => formatQuery(route.value)),
    openWorkflow: computed(() => (route.value.view === 'workflows' ? route.value.name : null)),
    go: (change, { replace = false } = {}) => {
      const next = { ...route.value, ...change };
      const hash = formatRoute(next);
      if (hash === formatRoute(route.value)) return;
      window.history[replace ? 'replaceState' : 'pushState'](null, '', hash);
      route.value = next;
    },
    stop: () => window.removeEventListener('hashchange', follow),
  };
}

/** Columns by which the events table can be sorted. */
export const SORT_KEYS = [
  'status',
  'type',
  'trend',
  'rate',
  'failed',
  'failures',
  'pending',
  'retried',
  'received',
] as const;
export type SortKey = (typeof SORT_KEYS)[number];

export const DIRECTIONS = ['asc', 'desc'] as const;
export type Direction = (typeof DIRECTIONS)[number];

/** Filters of the events table. `problems`: failing types and those that need attention for another reason. */
export const FILTERS = ['all', 'problems', 'failing', 'active', 'idle', 'never'] as const;
export type Filter = (typeof FILTERS)[number];

/** Views that the header links. */
export const VIEWS = ['events', 'errors', 'flow', 'workflows', 'agents', 'waits', 'schedules', 'processes'] as const;
/** Views with a route: `requests` is reached from the ids of events, `tagged` and `search` from the palette, `audit` from the menu. */
export const ROUTED_VIEWS = [...VIEWS, 'requests', 'tagged', 'search', 'audit'] as const;
export type View = (typeof ROUTED_VIEWS)[number];

export const VIEW_LABEL: Record<View, string> = {
  events: 'Events',
  errors: 'Errors',
  flow: 'Flow',
  workflows: 'Workflows',
  agents: 'Agents',
  waits: 'Waits',
  schedules: 'Schedules',
  processes: 'Processes',
  requests: 'Request',
  tagged: 'Tag',
  search: 'Search',
  audit: 'Audit',
};

/** Groupings of the events table. */
export const GROUPINGS = ['none', 'prefix'] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** Seconds between polls. */
export const INTERVALS = ['1', '2', '5', '15', '60', 'off'] as const;
export type Interval = (typeof INTERVALS)[number];

/** Ranges of the charts. */
export const RANGES = ['5m', '1h', '24h', '7d'] as const;
export type Range = (typeof RANGES)[number];

/** Range of a chart until the reader chooses one: an hour, or 5 minutes of a hub that has not run for longer. */
export type ChosenRange = Range | 'auto';

/** Values that the charts show. */
export const CHART_MODES = ['count', 'failures', 'latency'] as const;
export type ChartMode = (typeof CHART_MODES)[number];

/** Selected part of a chart, in epoch milliseconds: `from` is included, `to` is not. */
export interface Selection {
  readonly from: number;
  readonly to: number;
}

/** Settings of the page that the URL holds. Theme and shortcuts are preferences of the user, not of the URL. */
export interface Route {
  readonly view: View;
  /** Open item of the view: an event type, a workflow, an agent, a schedule, a tag, or the id of an event or a request. */
  readonly name: string | null;
  readonly q: string;
  readonly sort: SortKey;
  readonly dir: Direction;
  readonly show: Filter;
  readonly group: Grouping;
  /** Prefixes of the collapsed groups. */
  readonly closed: readonly string[];
  readonly every: Interval;
  readonly range: ChosenRange;
  readonly chart: ChartMode;
  /** Charts show the same time of yesterday too. */
  readonly yesterday: boolean;
  /** Selected part of the chart, for which the table shows its counts. */
  readonly selection: Selection | null;
}

export const DEFAULT_ROUTE: Route = {
  view: 'events',
  name: null,
  q: '',
  sort: 'status',
  dir: 'asc',
  show: 'all',
  group: 'none',
  closed: [],
  every: '2',
  range: 'auto',
  chart: 'count',
  yesterday: false,
  selection: null,
};

/** Returns the agent whose runs are open: that of the route, or else the only one. */
export function openAgent(name: string | null, agents: readonly { readonly name: string }[]): string | null {
  return name ?? (agents.length === 1 ? (agents[0]?.name ?? null) : null);
}

/** Returns the initial sort direction of a column: names from A, numbers from the largest, the worst status first. */
export function firstDirection(sort: SortKey): Direction {
  return sort === 'type' || sort === 'status' ? 'asc' : 'desc';
}

/** Parses a location's hash. Invalid parts get their defaults. */
export function parseRoute(hash: string): Route {
  const [path = '', ...rest] = hash.replace(/^#/, '').split('?');
  const query = new URLSearchParams(rest.join('?'));
  const [, first, ...name] = path.split('/');
  const view = oneOf(ROUTED_VIEWS, first);
  const sort = oneOf(SORT_KEYS, query.get('sort')) ?? DEFAULT_ROUTE.sort;
  return {
    view: view ?? DEFAULT_ROUTE.view,
    // No name: a URL starts no search, which the audit would record.
    name: view === undefined || view === 'search' ? null : decode(name.join('/')) || null,
    q: query.get('q') ?? DEFAULT_ROUTE.q,
    sort,
    dir: oneOf(DIRECTIONS, query.get('dir')) ?? firstDirection(sort),
    show: oneOf(FILTERS, query.get('show')) ?? DEFAULT_ROUTE.show,
    group: oneOf(GROUPINGS, query.get('group')) ?? DEFAULT_ROUTE.group,
    closed: query.getAll('closed'),
    every: oneOf(INTERVALS, query.get('every')) ?? DEFAULT_ROUTE.every,
    range: oneOf(RANGES, query.get('range')) ?? DEFAULT_ROUTE.range,
    chart: oneOf(CHART_MODES, query.get('chart')) ?? DEFAULT_ROUTE.chart,
    yesterday: query.get('yesterday') === 'true',
    selection: parseSelection(query.get('from'), query.get('to')),
  };
}

/** Formats a route as a hash, without settings that have their defaults. */
export function formatRoute(route: Route): string {
  return viewPath(route.view, route.name) + formatQuery(route);
}

/** Returns the hash of a view or of an item in it, without a query. */
export function viewPath(view: View, name: string | null = null): string {
  if (name !== null) return `#/${view}/${encodeURIComponent(wellFormed(name))}`;
  return view === DEFAULT_ROUTE.view ? '#/' : `#/${view}`;
}

/** Returns the query of a route's hash, with its "?"; empty if every setting has its default. */
function formatQuery(route: Route): string {
  const query = new URLSearchParams();
  const defaults: Route = { ...DEFAULT_ROUTE, dir: firstDirection(route.sort) };
  for (const key of ['sort', 'dir', 'q', 'show', 'group', 'every', 'range', 'chart', 'yesterday'] as const) {
    if (route[key] !== defaults[key]) query.set(key, String(route[key]));
  }
  if (route.selection !== null) {
    query.set('from', String(route.selection.from));
    query.set('to', String(route.selection.to));
  }
  for (const prefix of route.closed) query.append('closed', prefix);
  return query.size === 0 ? '' : `?${query}`;
}

function parseSelection(from: string | null, to: string | null): Selection | null {
  if (from === null || to === null) return null;
  const selection = { from: Number(from), to: Number(to) };
  return Number.isSafeInteger(selection.from) && Number.isSafeInteger(selection.to) && selection.from < selection.to
    ? selection
    : null;
}

function oneOf<T extends string>(allowed: readonly T[], value: string | null | undefined): T | undefined {
  return allowed.find((item) => item === value);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // The user typed a single "%".
    return text;
  }
}
