import { batch, computed, type ReadonlySignal, signal } from '@preact/signals';
import type {
  AgentOverview,
  EventColumns,
  HealthBody,
  IntrospectionBody,
  LostProcess,
  ReleaseIntrospection,
  WorkflowOverview,
} from '../../server/dashboard/protocol.js';
import type { RangeCounts } from '../api/api.js';
import type { HubInfo, Introspection, Schedule } from '../api/decode-introspection.js';
import { lazy } from '../format/clock-time.js';
import {
  createEventRow,
  type EventRow,
  type Moment,
  problemTypes,
  type Reading,
  type SelectedRange,
  subscribeTo,
} from './event-row.js';
import type { Filter } from './navigation.js';

/** Sums over all event types. */
export type Totals = IntrospectionBody['totals'];

/** Changes in one response. */
export interface Applied {
  /** Number of failures since the previous response, by type. Types without failures are absent. */
  readonly newFailures: ReadonlyMap<string, number>;
}

/** State of the hub on the page, from the last response. */
export interface HubStore {
  /** Last applied response; `null` before the first one. */
  readonly introspection: ReadonlySignal<Introspection | null>;
  /** `null` before the first response. */
  readonly hub: ReadonlySignal<HubInfo | null>;
  readonly health: ReadonlySignal<HealthBody | null>;
  readonly totals: ReadonlySignal<Totals | null>;
  /** Last applied response. Code that reads plain fields of rows subscribes to it. */
  readonly reading: ReadonlySignal<Reading>;
  /** Rows of the registered types, sorted by name. The map is replaced only if types are added or removed. */
  readonly rows: ReadonlySignal<ReadonlyMap<string, EventRow>>;
  /** Number of types that each filter would show. */
  readonly byFilter: ReadonlySignal<Readonly<Record<Filter, number>>>;
  readonly workflows: ReadonlySignal<readonly WorkflowOverview[]>;
  readonly agents: ReadonlySignal<readonly AgentOverview[]>;
  readonly schedules: ReadonlySignal<readonly Schedule[]>;
  /** Number of schedules that were set at run time, of which `schedules` has the first. */
  readonly storedSchedules: ReadonlySignal<number>;
  /** Releases of the last 7 days, the earliest start first. */
  readonly releases: ReadonlySignal<readonly ReleaseIntrospection[]>;
  /** Processes that ended in the last hour without a stop, the latest first. */
  readonly lost: ReadonlySignal<readonly LostProcess[]>;
  /** Counts of the selected range; `null` if none is selected. */
  readonly range: ReadonlySignal<RangeCounts | null>;
  /** Applies a response that arrived at this moment. */
  apply(introspection: Introspection, moment: Moment): Applied;
  /** Shows the counts of a range in the rows; `null` shows the last minutes again. */
  select(range: RangeCounts | null): void;
}

const BEFORE_FIRST: Reading = {
  at: 0,
  serverNow: 0,
  hubNow: 0,
  startedAt: null,
  problems: problemTypes([]),
  range: null,
};

const collator = lazy(() => new Intl.Collator('en', { numeric: true }));

/** Compares names in the order of lists: numbers in them by their value. */
export function compareNames(a: string, b: string): number {
  return collator().compare(a, b);
}

/** Creates the state of a hub before the first response. */
export function createHubStore(): HubStore {
  const introspection = signal<Introspection | null>(null);
  const reading = signal<Reading>(BEFORE_FIRST);
  const rows = signal<ReadonlyMap<string, EventRow>>(new Map());
  const range = signal<RangeCounts | null>(null);
  /** Rows of the last response, in its order. */
  let ordered: EventRow[] = [];

  const applyEvents = (columns: EventColumns, now: Reading): Applied => {
    const newFailures = new Map<string, number>();
    const known = rows.value;
    const before = ordered;
    const details = new Map(columns.details.map((each) => [each.index, each]));
    ordered = [];
    let isSame = columns.types.length === before.length;
    for (const [index, type] of columns.types.entries()) {
      // The order rarely changes, and comparing names is faster than looking them up.
      const last = before[index];
      const row = last?.type === type ? last : known.get(type);
      const source = { columns, index, details: details.get(index) };
      isSame &&= row === last;
      ordered.push(row ?? createEventRow(source, now, reading));
      const failed = row?.update(source, now) ?? 0;
      if (failed > 0) newFailures.set(type, failed);
    }
    if (!isSame) rows.value = byName(ordered);
    return { newFailures };
  };

  const apply = (next: Introspection, moment: Moment): Applied => {
    const now: Reading = {
      ...moment,
      hubNow: next.hub.now,
      startedAt: next.hub.startedAt,
      problems: problemTypes(next.health.problems),
      range: reading.value.range,
    };
    const applied = applyEvents(next.events, now);
    introspection.value = next;
    reading.value = now;
    return applied;
  };

  return {
    introspection,
    hub: computed(() => introspection.value?.hub ?? null),
    health: computed(() => introspection.value?.health ?? null),
    totals: computed(() => introspection.value?.totals ?? null),
    reading,
    rows,
    byFilter: computed(() => {
      subscribeTo(reading);
      return countByFilter(rows.value.values());
    }),
    workflows: computed(() => introspection.value?.workflows ?? []),
    agents: computed(() => introspection.value?.agents ?? []),
    schedules: computed(() => introspection.value?.schedules ?? []),
    storedSchedules: computed(() => introspection.value?.storedSchedules ?? 0),
    releases: computed(() => introspection.value?.releases ?? []),
    lost: computed(() => introspection.value?.lost ?? []),
    range,
    apply: (next, moment) => batch(() => apply(next, moment)),
    select: (next) =>
      batch(() => {
        range.value = next;
        reading.value = { ...reading.value, range: next && indexRange(next) };
      }),
  };
}

function indexRange({ from, to, events }: RangeCounts): SelectedRange {
  return { from, to, byType: new Map(events.map(({ type, counts }) => [type, counts])) };
}

function byName(rows: readonly EventRow[]): ReadonlyMap<string, EventRow> {
  const sorted = [...rows].sort((a, b) => compareNames(a.type, b.type));
  return new Map(sorted.map((row) => [row.type, row]));
}

/** Counts the rows that each filter would show. */
export function countByFilter(rows: Iterable<EventRow>): Record<Filter, number> {
  const byStatus = { failing: 0, attention: 0, paused: 0, active: 0, idle: 0, never: 0 };
  let all = 0;
  for (const { status } of rows) {
    all++;
    byStatus[status]++;
  }
  const { failing, attention, active, idle, never } = byStatus;
  return { all, problems: failing + attention, failing, active, idle, never };
}
