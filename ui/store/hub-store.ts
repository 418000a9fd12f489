import { batch, computed, type ReadonlySignal, signal } from '@preact/signals';
import type { AgentIntrospection, EventIntrospection, WorkflowIntrospection } from '../../server/dashboard/protocol.js';
import type { HubInfo, Introspection } from '../api/parse-body.js';
import type { Filter } from '../routing/route.js';
import { countByFilter } from './event-list.js';
import { createEventRow, type EventRow } from './event-row.js';
import { addSample, type History, type Tally } from './history.js';
import type { Moment, Reading } from './moment.js';
import { subscribeTo } from './subscribe-to.js';

/** Counts of the hub, summed over its event types. */
export interface Totals extends Tally {
  readonly pending: number;
}

/** Changes in one response. */
export interface Applied {
  /** Number of failures since the previous response, by type. Types without failures are absent. */
  readonly newFailures: ReadonlyMap<string, number>;
}

/** State of the hub on the page, from the responses applied so far. */
export interface HubStore {
  /** `null` before the first response. */
  readonly hub: ReadonlySignal<HubInfo | null>;
  /** Time of the last applied response. Code that reads plain fields of rows subscribes to it. */
  readonly reading: ReadonlySignal<Moment>;
  /** Rows of the registered types, sorted by name. The map is replaced only if types are added or removed. */
  readonly rows: ReadonlySignal<ReadonlyMap<string, EventRow>>;
  readonly totals: ReadonlySignal<Totals>;
  /** Number of types that each filter would show. */
  readonly byFilter: ReadonlySignal<Readonly<Record<Filter, number>>>;
  readonly workflows: ReadonlySignal<readonly WorkflowIntrospection[]>;
  readonly agents: ReadonlySignal<readonly AgentIntrospection[]>;
  /** Samples of the counters over all types since the page was opened. */
  readonly activity: ReadonlySignal<History>;
  /** Applies a response that arrived at this moment. */
  apply(introspection: Introspection, moment: Moment): Applied;
}

const NO_EARLIER_SAMPLES: EarlierSamples = { histories: new Map(), activity: [] };

const { compare } = new Intl.Collator('en', { numeric: true });

/** Samples from before a store is created. */
export interface EarlierSamples {
  readonly histories: ReadonlyMap<string, History>;
  readonly activity: History;
}

/** Creates the state of a hub before the first response. */
export function createHubStore({ histories, activity: before }: EarlierSamples = NO_EARLIER_SAMPLES): HubStore {
  const hub = signal<HubInfo | null>(null);
  const reading = signal<Moment>({ at: 0, serverNow: 0 });
  const rows = signal<ReadonlyMap<string, EventRow>>(new Map());
  const totals = signal<Totals>({ received: 0, completed: 0, failed: 0, pending: 0 });
  const workflows = signal<readonly WorkflowIntrospection[]>([]);
  const agents = signal<readonly AgentIntrospection[]>([]);
  const activity = signal<History>([]);
  const samples = [...before];
  /** Rows of the last response, in its order. */
  let ordered: EventRow[] = [];
  const { received = 0, completed = 0, failed = 0 } = before.at(-1) ?? {};
  const seen = { received, completed, failed };

  const applyEvents = (events: readonly EventIntrospection[], now: Reading): Applied => {
    const newFailures = new Map<string, number>();
    const known = rows.value;
    const before = ordered;
    ordered = [];
    let isSame = events.length === before.length;
    for (const [index, event] of events.entries()) {
      // The order rarely changes, and comparing names is faster than looking them up.
      const last = before[index];
      const row = last?.type === event.type ? last : known.get(event.type);
      isSame &&= row === last;
      ordered.push(row ?? createEventRow(event, now, reading, histories.get(event.type)));
      if (row === undefined) continue;
      const increase = row.update(event, now);
      seen.received += increase.received;
      seen.completed += increase.completed;
      seen.failed += increase.failed;
      if (increase.failed > 0) newFailures.set(event.type, increase.failed);
    }
    if (!isSame) rows.value = byName(ordered);
    return { newFailures };
  };

  const apply = (introspection: Introspection, moment: Moment): Applied => {
    const hubRestarted = hasRestarted(hub.value, introspection.hub);
    const applied = applyEvents(introspection.events, { ...moment, hubRestarted });
    addSample(samples, moment.at, seen, hubRestarted);
    hub.value = introspection.hub;
    reading.value = moment;
    totals.value = sum(introspection);
    workflows.value = introspection.workflows;
    agents.value = introspection.agents;
    activity.value = [...samples];
    return applied;
  };

  return {
    hub,
    reading,
    rows,
    totals,
    byFilter: computed(() => {
      subscribeTo(reading);
      return countByFilter(rows.value.values());
    }),
    workflows,
    agents,
    activity,
    apply: (introspection, moment) => batch(() => apply(introspection, moment)),
  };
}

/**
 * Returns true if the counters restarted between two responses. In-process counters end with their process. On Redis they
 * survive it, and several processes may respond in turn, so only a counter that went down shows a restart.
 */
function hasRestarted(before: HubInfo | null, after: HubInfo): boolean {
  return before !== null && after.transport === 'memory' && before.startedAt !== after.startedAt;
}

function byName(rows: readonly EventRow[]): ReadonlyMap<string, EventRow> {
  const sorted = [...rows].sort((a, b) => compare(a.type, b.type));
  return new Map(sorted.map((row) => [row.type, row]));
}

function sum({ events }: Introspection): Totals {
  const totals = { received: 0, completed: 0, failed: 0, pending: 0 };
  for (const { metrics } of events) {
    totals.received += metrics.received;
    totals.completed += metrics.completed;
    totals.failed += metrics.failed;
    totals.pending += metrics.pending;
  }
  return totals;
}
