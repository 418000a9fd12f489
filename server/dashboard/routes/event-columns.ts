import {
  countersOf,
  type EventColumns,
  type EventColumnsDetails,
  type EventOverview,
  periodCounters,
  type RecentActivity,
} from '../protocol.js';

const countNames = countersOf('stored', 'live');
const optionalNames = countersOf('optional', 'latest', 'oldest');

/** Returns event types as columns. A column whose values are all 0, `''` or `null` is omitted. */
export function eventColumns(events: readonly EventOverview[]): EventColumns {
  const metrics = events.map((event) => event.metrics);
  const recent = events.map((event) => event.recent);
  const minutes = recent.map((each) => each.minutes);
  const details: EventColumnsDetails[] = [];
  for (const [index, event] of events.entries()) {
    if (!isPlain(event)) details.push({ index, ...shownDetails(event) });
  }
  return {
    types: events.map(({ type }) => type),
    metrics: {
      ...columns(metrics, countNames, 0, asIs),
      ...columns(metrics, optionalNames, null, orNull),
    },
    last5Min: columns(
      recent.map(({ last5Min }) => last5Min),
      periodCounters,
      0,
      asIs,
    ),
    ...columns<RecentActivity, 'waitP95Ms' | 'durationP95Ms', number | null>(
      recent,
      ['waitP95Ms', 'durationP95Ms'],
      null,
      asIs,
    ),
    ...columns(events, ['processes'], null, orNull),
    minutes: columns(minutes, ['received', 'failed'], '', textOf),
    details,
  };
}

/** Returns the columns of properties under their names, without those whose values are all `empty`. */
function columns<T, N extends keyof T, V>(
  items: readonly T[],
  names: readonly N[],
  empty: V,
  read: (value: T[N]) => V,
): Partial<Record<N, readonly V[]>> {
  const found: Partial<Record<N, readonly V[]>> = {};
  for (const name of names) {
    let isEmpty = true;
    const values = items.map((item) => {
      const value = read(item[name]);
      isEmpty &&= value === empty;
      return value;
    });
    if (!isEmpty) found[name] = values;
  }
  return found;
}

function asIs<T>(value: T): T {
  return value;
}

function orNull(value: number | undefined): number | null {
  return value ?? null;
}

// Introspections have the same minutes for a type until it changes, and one array for all types without any.
const minuteTexts = new WeakMap<readonly number[], string>();

function textOf(counts: readonly number[]): string {
  let text = minuteTexts.get(counts);
  if (text === undefined) {
    text = withoutStart(counts).join(' ');
    minuteTexts.set(counts, text);
  }
  return text;
}

/** Returns the parts of an event type that few types have. */
export function shownDetails(event: EventOverview): Omit<EventColumnsDetails, 'index'> {
  const { description, kind, agent, concurrency, onSuccess, onFailure, onComplete, services, lastFailure, paused } =
    event;
  return {
    ...(description !== undefined && { description }),
    kind,
    ...(agent !== undefined && { agent }),
    ...(concurrency !== undefined && { concurrency }),
    ...(onSuccess !== undefined && { onSuccess }),
    ...(onFailure !== undefined && { onFailure }),
    ...(onComplete !== undefined && { onComplete }),
    ...(services !== undefined && { services }),
    ...(lastFailure !== undefined && {
      lastFailure: { at: lastFailure.at, name: lastFailure.name, message: lastFailure.message },
    }),
    ...(paused !== undefined && { paused }),
  };
}

/** Returns true for a type whose only detail is its kind. */
function isPlain(event: EventOverview): boolean {
  const { description, kind, agent, concurrency, onSuccess, onFailure, onComplete, services, lastFailure, paused } =
    event;
  const details = [description, agent, concurrency, onSuccess, onFailure, onComplete, services, lastFailure, paused];
  return kind === 'handler' && details.every((detail) => detail === undefined);
}

/** Returns counts without their leading zeros, which pages would parse for each of thousands of types. */
export function withoutStart(counts: readonly number[]): readonly number[] {
  let first = 0;
  while (counts[first] === 0) first += 1;
  return first === counts.length ? [] : counts.slice(first);
}
