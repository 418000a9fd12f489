import type { Counts, EventColumns, EventOverview, PeriodCounts } from '../protocol.js';

const countNames = [
  'received',
  'completed',
  'failed',
  'cancelled',
  'pending',
  'active',
  'delayed',
  'suspended',
  'retried',
  'deduplicated',
  'deadLetters',
] as const satisfies readonly (keyof Counts)[];

const optionalNames = [
  'approvals',
  'oldestPendingAt',
  'lastReceivedAt',
  'lastFailedAt',
] as const satisfies readonly (keyof Counts)[];

const periodNames = [
  'received',
  'completed',
  'failed',
  'cancelled',
  'retried',
] as const satisfies readonly (keyof PeriodCounts)[];

/** Returns event types as columns. */
export function eventColumns(events: readonly EventOverview[]): EventColumns {
  /** Returns a column under its name; nothing if all its values are `empty`. */
  const column = <T>(name: string, empty: T, read: (event: EventOverview) => T): Record<string, readonly T[]> => {
    const values = events.map(read);
    return values.every((value) => value === empty) ? {} : { [name]: values };
  };
  const columns = <N extends string, T>(
    names: readonly N[],
    empty: T,
    read: (event: EventOverview, name: N) => T,
  ): Record<string, readonly T[]> =>
    Object.assign({}, ...names.map((name) => column(name, empty, (event) => read(event, name))));
  return {
    types: events.map(({ type }) => type),
    metrics: {
      ...columns(countNames, 0, ({ metrics }, name) => metrics[name]),
      ...columns<(typeof optionalNames)[number], number | null>(
        optionalNames,
        null,
        ({ metrics }, name) => metrics[name] ?? null,
      ),
    },
    last5Min: columns(periodNames, 0, ({ recent }, name) => recent.last5Min[name]),
    ...column<number | null>('waitP95Ms', null, ({ recent }) => recent.waitP95Ms),
    ...column<number | null>('durationP95Ms', null, ({ recent }) => recent.durationP95Ms),
    ...column<number | null>('processes', null, ({ processes }) => processes ?? null),
    minutes: columns(['received', 'failed'], '', ({ recent }, name) => recent.minutes[name].join(' ')),
    details: events.flatMap((event, index) => {
      const { type: _type, metrics: _metrics, recent: _recent, processes: _processes, kind, ...details } = event;
      const isPlain = kind === 'handler' && Object.keys(details).length === 0;
      return isPlain ? [] : [{ index, kind, ...details }];
    }),
  };
}
