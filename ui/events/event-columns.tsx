import { computed, type ReadonlySignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import type { Problem, RecentActivity } from '../../server/dashboard/protocol.js';
import { formatPercent, formatRate, UNKNOWN } from '../format/number.js';
import { Count } from '../shared/counts.js';
import { Icon, type IconName } from '../shared/icon.js';
import { sumOf } from '../shared/lists.js';
import { TrendChart } from '../shared/trend-chart.js';
import {
  type AttentionCause,
  type EventRow,
  type EventStatus,
  failingRatio,
  failureLevel,
  type Reading,
  shownCounts,
  shownRate,
  shownReceived,
} from '../state/event-row.js';
import { SORT_KEYS, type SortKey } from '../state/navigation.js';
import { failureRatio, TREND_MINUTES, type Trend, trendOf } from '../state/recent-activity.js';

/** Widths of the table below which columns are hidden, in rem. `event-table-narrow.css` has a rule for each. */
const HIDE_STEPS = [60, 53, 48] as const;

type Primitive = string | number | null;

/** Value of a cell. Rows compare it item by item, so that a cell renders again if any part of it changes. */
type Value = Primitive | readonly Primitive[];

/** Part of a column that does not depend on its values. */
interface Heading {
  readonly label: string;
  /** Period of the numbers, shown below the label; absent if there is none. */
  readonly period?: string;
  /** Facts that the label does not say. */
  readonly title?: string;
  /** Track of the grid. */
  readonly width: string;
  /** Track at the last step, where the names of types need the room. */
  readonly leastWidth?: string;
  /** Width of the table in rem below which the column is hidden. */
  readonly hideBelow?: (typeof HIDE_STEPS)[number];
  /** Shown in rows without column headers: alone, or with its period above the table. Absent: hidden there. */
  readonly narrow?: 'value' | 'period';
  /** True if the values are of the selected range of the chart, if there is one. */
  readonly isRanged?: boolean;
  readonly align?: 'start';
}

interface Definition<V extends Value> extends Heading {
  value(row: EventRow, reading: Reading): V;
  /** Returns the value of a group of rows. Absent for columns that the name of the group covers. */
  readonly group?: (rows: readonly EventRow[], reading: Reading) => V;
  cell(value: V): ComponentChildren;
  /** Number by which the table is sorted; unknown ones come last. `null`: by name. */
  readonly order: ((row: EventRow, reading: Reading) => number | null) | null;
  /** True if the cell stands back at zero. */
  readonly isQuiet?: boolean;
}

/** Cell of a row. */
export interface Cell {
  readonly value: Value;
  /** True above zero; absent if the column has no quiet state. */
  readonly hasAny: boolean | undefined;
  render(): ComponentChildren;
}

/** Column of the events table. */
export interface Column extends Heading {
  readonly key: SortKey;
  readonly class: string;
  readonly order: Definition<Value>['order'];
  read(row: EventRow, reading: Reading): Cell;
  /** Reads the cell of a group; absent for columns that the name of the group covers. */
  readonly readGroup: ((rows: readonly EventRow[], reading: Reading) => Cell) | undefined;
}

type Defined = Omit<Column, 'key' | 'class'>;

function column<V extends Value>(definition: Definition<V>): Defined {
  const { value, group, cell, isQuiet, ...rest } = definition;
  const cellOf = (of: V): Cell => ({
    value: of,
    hasAny: isQuiet ? typeof of === 'number' && of > 0 : undefined,
    render: () => cell(of),
  });
  return {
    ...rest,
    read: (row, reading) => cellOf(value(row, reading)),
    readGroup: group && ((rows, reading) => cellOf(group(rows, reading))),
  };
}

/** Defines a column of counts, which groups add up. */
function countColumn(definition: Omit<Definition<number>, 'group' | 'cell' | 'order'>): Defined {
  return column({
    ...definition,
    group: (rows, reading) => sumOf(rows, (row) => definition.value(row, reading)),
    cell: (count) => <Count value={count} />,
    order: definition.value,
  });
}

/** Columns of the table by the key that sorts it. Their order is that of `SORT_KEYS`. */
const DEFINITIONS: Readonly<Record<SortKey, Defined>> = {
  status: column<readonly [EventStatus, number | null, AttentionCause | null]>({
    label: 'Status',
    width: '6.5rem',
    leastWidth: '6rem',
    narrow: 'value',
    align: 'start',
    value: (row) => [row.status, failingRatio(row), row.cause],
    cell: ([status, ratio, cause]) => <StatusBadge status={status} failingRatio={ratio} cause={cause} />,
    order: statusRank,
  }),
  type: column<readonly [kind: string, slots: string]>({
    label: 'Event type',
    width: 'minmax(6rem, 24rem)',
    narrow: 'value',
    align: 'start',
    // The table adds the name, with its link.
    value: ({ eventKind, slots }) => [eventKind, slots?.isFull ? `${slots.taken}/${slots.all}` : ''],
    cell: ([kind, slots]) => (
      <>
        {kind !== 'handler' && <span class="tag">{kind}</span>}
        {slots !== '' && (
          <span class="tag is-full" title="All slots are taken, and events wait">
            {slots} busy
          </span>
        )}
      </>
    ),
    order: null,
  }),
  trend: column<Trend | null>({
    label: 'Trend',
    period: '20 min',
    width: 'minmax(6rem, 8.5rem)',
    leastWidth: '6rem',
    narrow: 'period',
    align: 'start',
    // Bars of now would stand beside counts of the selected period.
    value: ({ minutes }, { range }) => (range === null ? trendOf(minutes) : null),
    group: (rows, { range }) => (range === null ? trendOf(sumMinutes(rows)) : null),
    cell: (trend) => (trend === null ? UNKNOWN : <TrendChart trend={trend} />),
    order: ({ minutes }) => sumOf(minutes.received, Number),
  }),
  rate: column<number | null>({
    label: 'Rate',
    period: '1 min',
    width: 'minmax(5rem, 1fr)',
    narrow: 'period',
    isRanged: true,
    value: shownRate,
    group: (rows, reading) => {
      const rates = rows.flatMap((row) => shownRate(row, reading) ?? []);
      return rates.length === 0 ? null : sumOf(rates, Number);
    },
    cell: formatRate,
    order: shownRate,
  }),
  failed: countColumn({
    label: 'Failed',
    period: '5 min',
    width: 'minmax(4.25rem, 1fr)',
    isRanged: true,
    isQuiet: true,
    value: (row, reading) => {
      const { failed, cancelled } = shownCounts(row, reading);
      return failed - cancelled;
    },
  }),
  failures: column<number | null>({
    label: 'Failure rate',
    period: '5 min',
    title: 'Failed, of all that ended',
    width: 'minmax(6.25rem, 1fr)',
    narrow: 'period',
    isRanged: true,
    isQuiet: true,
    value: (row, reading) => failureRatio(shownCounts(row, reading)),
    group: (rows, reading) => {
      const counts = rows.map((row) => shownCounts(row, reading));
      const sumFor = (name: 'completed' | 'failed' | 'cancelled'): number => sumOf(counts, (each) => each[name]);
      return failureRatio({
        completed: sumFor('completed'),
        failed: sumFor('failed'),
        cancelled: sumFor('cancelled'),
      });
    },
    cell: formatPercent,
    order: (row, reading) => failureRatio(shownCounts(row, reading)),
  }),
  pending: countColumn({
    label: 'Pending',
    period: 'now',
    title: 'Suspended ones included',
    width: 'minmax(5rem, 1fr)',
    hideBelow: 48,
    narrow: 'value',
    isQuiet: true,
    value: (row) => row.count('pending'),
  }),
  retried: countColumn({
    label: 'Retried',
    period: '5 min',
    width: 'minmax(5rem, 1fr)',
    hideBelow: 53,
    isRanged: true,
    isQuiet: true,
    value: (row, reading) => shownCounts(row, reading).retried,
  }),
  received: countColumn({
    label: 'Received',
    period: 'since start',
    width: 'minmax(6rem, 1fr)',
    hideBelow: 60,
    isRanged: true,
    value: shownReceived,
  }),
};

/** Columns of the table, from left to right. */
export const COLUMNS: readonly Column[] = SORT_KEYS.map((key) => {
  const defined = DEFINITIONS[key];
  const { hideBelow, narrow, align } = defined;
  const names = [`col-${key}`, hideBelow && `below-${hideBelow}`, narrow && 'is-narrow', align && `is-${align}`];
  return { ...defined, key, class: names.filter(Boolean).join(' ') };
});

/** Returns the column that a key sorts. */
export function columnOf(key: SortKey): Defined {
  return DEFINITIONS[key];
}

/** Tracks of the grid at each step of the table's width, as custom properties. */
export const TRACKS: Readonly<Record<string, string>> = Object.fromEntries(
  [Number.POSITIVE_INFINITY, ...HIDE_STEPS].map((below) => [
    below === Number.POSITIVE_INFINITY ? '--tracks' : `--tracks-${below}`,
    COLUMNS.filter(({ hideBelow = 0 }) => hideBelow < below)
      .map(({ width, leastWidth = width }) => (below === Math.min(...HIDE_STEPS) ? leastWidth : width))
      .join(' '),
  ]),
);

/** Returns the period of a column. */
export function periodOf({ isRanged, period }: Column, hasRange: boolean): string | undefined {
  return hasRange && isRanged ? 'selected' : period;
}

/**
 * Returns the cells of a row, in the order of the columns. Equal cells are the same array, so that a row renders only on a
 * change.
 */
export function watchCells(row: EventRow, readings: ReadonlySignal<Reading>): ReadonlySignal<readonly Cell[]> {
  let shown: readonly Cell[] | undefined;
  return computed(() => {
    const reading = readings.value;
    const last = shown;
    const cells = COLUMNS.map(({ read }) => read(row, reading));
    if (!last?.every(({ value }, index) => isSameValue(value, cells[index]?.value))) shown = cells;
    return shown ?? cells;
  });
}

function isSameValue(a: Value, b: Value | undefined): boolean {
  return Array.isArray(a) && Array.isArray(b) ? hasSameItems(a, b) : a === b;
}

/** Returns `true` if two lists have the same items in the same order. */
export function hasSameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}

/** Ranks are further apart than failure rates. Active and idle types share one, so that a type with few events does not move at each of them. */
const STATUS_RANK: Record<EventStatus, number> = { failing: 0, attention: 2, paused: 3, active: 4, idle: 4, never: 6 };

/**
 * Returns the rank of a row's status, and in it that of its failure rate: -1 for a type whose events all fail. Whole
 * percents, so that similar rows do not change places at each event. In a selected range, the types that failed in it are
 * the worst.
 */
function statusRank(row: EventRow, reading: Reading): number {
  const counts = shownCounts(row, reading);
  const share = Math.round((failureRatio(counts) ?? 0) * 100) / 100;
  if (reading.range === null) return STATUS_RANK[row.status] - share;
  return (counts.failed > counts.cancelled ? 0 : counts.received > 0 ? 4 : 6) - share;
}

/** Adds up the minutes of rows, which end with the current one. */
function sumMinutes(rows: readonly EventRow[]): RecentActivity['minutes'] {
  const sumsOf = (name: 'received' | 'failed'): number[] =>
    Array.from({ length: TREND_MINUTES }, (_, index) =>
      sumOf(rows, ({ minutes }) => minutes[name].at(index - TREND_MINUTES) ?? 0),
    );
  return { received: sumsOf('received'), failed: sumsOf('failed') };
}

/** Look of each status, and the rule that decides it. */
const LOOK: Record<EventStatus, readonly [icon: IconName, label: string, rule: string]> = {
  failing: ['triangle', 'Failing', 'Events failed in 5 min'],
  attention: ['clock', 'Attention', 'Dead letters, events or approvals wait'],
  paused: ['pause', 'Paused', 'Nothing of the type starts until it is resumed'],
  active: ['dot', 'Active', 'An event runs, or was received in the last minute'],
  idle: ['ring', 'Idle', 'No event was received in the last minute'],
  never: ['dashes', 'Never seen', 'No event was received since the start'],
};

/** Word and rule of each problem that is not a failure. */
const CAUSE_LOOK: { readonly [Kind in Problem['kind']]?: readonly [label: string, rule: string] } = {
  backlog: ['Backlog', 'More events arrive than end'],
  'oldest-pending': ['Stuck', 'An event waits for long'],
  'no-process': ['No process', 'No process handles its pending events'],
  'dead-letters': ['Dead letters', 'Failed events were not replayed'],
  'overdue-schedule': ['Overdue', 'A schedule is overdue'],
  'awaiting-version': ['Version', 'Runs wait for a higher version of the workflow'],
  'approval-waiting': ['Suspended', 'A tool call waits for approval'],
};

/** Returns the word of a problem in a sentence. */
export function causeLabel(kind: Problem['kind']): string {
  return CAUSE_LOOK[kind]?.[0].toLowerCase() ?? kind.replaceAll('-', ' ');
}

export interface StatusBadgeProps {
  readonly status: EventStatus;
  /** Failure rate of the last 5 minutes; `null` unless the type is failing. It decides how much the badge stands out. */
  readonly failingRatio: number | null;
  /** Problem of a type with the status `attention`. */
  readonly cause: AttentionCause | null;
  /** True if the badge always has a word. */
  readonly hasWord?: boolean;
}

/** Status of an event type: an icon, with a word if it is an exception or if `hasWord`. */
export function StatusBadge({ status, failingRatio, cause, hasWord = false }: StatusBadgeProps): JSX.Element {
  const [icon, anyLabel, anyRule] = LOOK[status];
  // A newer server may report other problems.
  const [label, causeRule] = (cause === null ? undefined : CAUSE_LOOK[cause]) ?? [anyLabel, anyRule];
  const isLoud = status === 'failing' || status === 'attention' || status === 'paused';
  const level = status === 'failing' ? ` is-${failureLevel(failingRatio)}` : '';
  const rule = failingRatio === null ? causeRule : `${formatPercent(failingRatio)} of the events failed in 5 min`;
  return (
    <span class={`status is-${status}${level}`} title={`${label}: ${rule}`}>
      <Icon name={icon} />
      <span class={isLoud || hasWord ? undefined : 'visually-hidden'}>{label}</span>
    </span>
  );
}
