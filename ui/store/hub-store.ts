import { batch, computed, type ReadonlySignal, signal } from '@preact/signals';
import type { AgentIntrospection, EventIntrospection, WorkflowIntrospection } from '../../server/dashboard/protocol.js';
import type { HubInfo, Introspection } from '../api/parse-body.js';
import type { Filter } from '../routing/route.js';
import { countByFilter } from './event-list.js';
import { createEventRow, type EventRow } from './event-row.js';
import { addSample, type History, type Tally } from './history.js';
import type { Moment, Reading } from './moment.js';

/** All counts of the hub, summed over its event types. */
export interface Totals extends Tally {
  readonly pending: number;
}

/** What one answer brought. */
export interface Applied {
  /** Failures since the answer before, by type; types without any are absent. */
  readonly newFailures: ReadonlyMap<string, number>;
}

/** Everything that the page knows of the hub, from the answers it has taken in. */
export interface HubStore {
  /** `null` before the first answer. */
  readonly hub: ReadonlySignal<HubInfo | null>;
  /** When the last answer was taken in; whoever reads rows by the thousand follows this. */
  readonly reading: ReadonlySignal<Moment>;
  /** Registered types, by name as people read it. A new map only where types come or go. */
  readonly rows: ReadonlySignal<ReadonlyMap<string, EventRow>>;
  readonly totals: ReadonlySignal<Totals>;
  /** How many types each filter would show. */
  readonly byFilter: ReadonlySignal<Readonly<Record<Filter, number>>>;
  readonly workflows: ReadonlySignal<readonly WorkflowIntrospection[]>;
  readonly agents: ReadonlySignal<readonly AgentIntrospection[]>;
  /** What was counted while the page looked on, over all types. */
  readonly activity: ReadonlySignal<History>;
  /** Takes in an answer that came at this moment. */
  apply(answer: Introspection, moment: Moment): Applied;
}

const NO_PAST: Past = { histories: new Map(), activity: [] };

const { compare } = new Intl.Collator('en', { numeric: true });

/** What was seen before a store begins. */
export interface Past {
  readonly histories: ReadonlyMap<string, History>;
  readonly activity: History;
}

export function createHubStore({ histories, activity: before }: Past = NO_PAST): HubStore {
  const hub = signal<HubInfo | null>(null);
  const reading = signal<Moment>({ at: 0, serverNow: 0 });
  const rows = signal<ReadonlyMap<string, EventRow>>(new Map());
  const totals = signal<Totals>({ received: 0, completed: 0, failed: 0, pending: 0 });
  const workflows = signal<readonly WorkflowIntrospection[]>([]);
  const agents = signal<readonly AgentIntrospection[]>([]);
  const activity = signal<History>([]);
  const samples = [...before];
  /** The rows of the last answer, in its order. */
  let answered: EventRow[] = [];
  const { received = 0, completed = 0, failed = 0 } = before.at(-1) ?? {};
  const seen = { received, completed, failed };

  const takeIn = (events: readonly EventIntrospection[], now: Reading): Applied => {
    const newFailures = new Map<string, number>();
    const known = rows.value;
    const before = answered;
    answered = [];
    let isSame = events.length === before.length;
    for (const [index, event] of events.entries()) {
      // Answers seldom change their order, and to compare names costs less than to look them up.
      const last = before[index];
      const row = last?.type === event.type ? last : known.get(event.type);
      isSame &&= row === last;
      answered.push(row ?? createEventRow(event, now, reading, histories.get(event.type)));
      if (row === undefined) continue;
      const counted = row.update(event, now);
      seen.received += counted.received;
      seen.completed += counted.completed;
      seen.failed += counted.failed;
      if (counted.failed > 0) newFailures.set(event.type, counted.failed);
    }
    if (!isSame) rows.value = byName(answered);
    return { newFailures };
  };

  const apply = (answer: Introspection, moment: Moment): Applied => {
    const hubRestarted = hasRestarted(hub.value, answer.hub);
    const applied = takeIn(answer.events, { ...moment, hubRestarted });
    addSample(samples, moment.at, seen, hubRestarted);
    hub.value = answer.hub;
    reading.value = moment;
    totals.value = sum(answer);
    workflows.value = answer.workflows;
    agents.value = answer.agents;
    activity.value = [...samples];
    return applied;
  };

  return {
    hub,
    reading,
    rows,
    totals,
    byFilter: computed(() => {
      reading.value;
      return countByFilter(rows.value.values());
    }),
    workflows,
    agents,
    activity,
    apply: (answer, moment) => batch(() => apply(answer, moment)),
  };
}

/**
 * Whether counting began anew between two answers. In-process counts live and die with their process. On Redis they
 * outlive it, and several processes may answer in turn, so there only a counter that went down tells.
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
