import { batch, type ReadonlySignal, signal } from '@preact/signals';
import type { AgentIntrospection, WorkflowIntrospection } from '../../server/dashboard/protocol.js';
import type { HubInfo, Introspection } from '../api/protocol.js';
import { createEventRow, type EventRow, type Moment, type Reading } from './event-row.js';
import { extendHistory, type History, type Tally } from './history.js';

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
  /** Registered types in the server's order. A new map only where types come or go. */
  readonly rows: ReadonlySignal<ReadonlyMap<string, EventRow>>;
  readonly totals: ReadonlySignal<Totals>;
  readonly workflows: ReadonlySignal<readonly WorkflowIntrospection[]>;
  readonly agents: ReadonlySignal<readonly AgentIntrospection[]>;
  /** What was counted while the page looked on, over all types. */
  readonly activity: ReadonlySignal<History>;
  /** Takes in an answer that came at this moment. */
  apply(answer: Introspection, moment: Moment): Applied;
}

export function createHubStore(): HubStore {
  const hub = signal<HubInfo | null>(null);
  const rows = signal<ReadonlyMap<string, EventRow>>(new Map());
  const totals = signal<Totals>({ received: 0, completed: 0, failed: 0, pending: 0 });
  const workflows = signal<readonly WorkflowIntrospection[]>([]);
  const agents = signal<readonly AgentIntrospection[]>([]);
  const activity = signal<History>([]);
  let seen: Tally = { received: 0, completed: 0, failed: 0 };

  const apply = (answer: Introspection, moment: Moment): Applied => {
    const hubRestarted = hasRestarted(hub.value, answer.hub);
    const reading: Reading = { ...moment, hubRestarted };
    const next = new Map<string, EventRow>();
    const newFailures = new Map<string, number>();
    for (const event of answer.events) {
      const row = rows.value.get(event.type);
      next.set(event.type, row ?? createEventRow(event, reading));
      const counted = row?.update(event, reading);
      if (counted === undefined) continue;
      seen = add(seen, counted);
      if (counted.failed > 0) newFailures.set(event.type, counted.failed);
    }
    hub.value = answer.hub;
    if (!hasSameTypes(rows.value, next)) rows.value = next;
    totals.value = sum(answer);
    workflows.value = answer.workflows;
    agents.value = answer.agents;
    activity.value = extendHistory(activity.value, moment.at, seen, hubRestarted);
    return { newFailures };
  };

  return {
    hub,
    rows,
    totals,
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

function hasSameTypes(a: ReadonlyMap<string, EventRow>, b: ReadonlyMap<string, EventRow>): boolean {
  const others = b.keys();
  return a.size === b.size && [...a.keys()].every((type) => type === others.next().value);
}

function add(a: Tally, b: Tally): Tally {
  return { received: a.received + b.received, completed: a.completed + b.completed, failed: a.failed + b.failed };
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
