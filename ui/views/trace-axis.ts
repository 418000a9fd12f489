import { niceCeiling, TICK_STEPS } from '../charts/chart-shape.js';
import { formatDuration } from '../format/duration.js';
import { formatCount, formatPercent } from '../format/number.js';
import { groupBy, sumOf } from '../shared/lists.js';
import { gapsIn, isBusy, joinPeriods, spanOf, type TimeSpan } from '../workflows/step-bars.js';
import { stepPath, type TraceBar, type TraceRow, type TraceState } from './trace-rows.js';

/** Axis that shows times in percent of its width. Cut waits are as wide as their mark. */
export interface TraceAxis {
  /** Time that the axis covers, in epoch milliseconds. */
  readonly span: TimeSpan;
  /** Waits that are cut out. */
  readonly cuts: readonly TimeSpan[];
  /** Returns the place of a time in percent. */
  place(at: number): number;
}

/** Width of a cut wait in percent. */
const CUT_PERCENT = 4;
/** Part of the axis that a wait takes at least for it to be cut. */
const MIN_CUT = 0.05;

/** Returns an axis over a span, from which waits are cut out. */
export function traceAxis(span: TimeSpan, cuts: readonly TimeSpan[]): TraceAxis {
  const cutMs = totalMs(cuts);
  const percentPerMs = (100 - cuts.length * CUT_PERCENT) / Math.max(1, span.to - span.from - cutMs);
  return {
    span,
    cuts,
    place: (at) => {
      let percent = (Math.max(span.from, Math.min(span.to, at)) - span.from) * percentPerMs;
      for (const { from, to } of cuts) {
        if (at <= from) break;
        const inside = Math.min(at, to) - from;
        percent += (inside / (to - from)) * CUT_PERCENT - inside * percentPerMs;
      }
      return Math.round(percent * 1_000) / 1_000;
    },
  };
}

export function totalMs(periods: readonly TimeSpan[]): number {
  return sumOf(periods, ({ from, to }) => to - from);
}

/** Tick of an axis, or wait that is cut out. */
export interface AxisMark {
  /** Place in percent of the width. */
  readonly left: number;
  /** Time since the start, since the cut before with "+", or "cut" and the duration of a cut. */
  readonly text: string;
  readonly isCut?: boolean;
}

const MAX_TICKS = 5;
const MINUTE_MS = 60_000;

/** Returns the marks of an axis. It has no ticks if its span is too long. */
export function axisMarks({ span, cuts, place }: TraceAxis, startedAt: number): readonly AxisMark[] {
  const least = (span.to - span.from - totalMs(cuts)) / MAX_TICKS;
  const step =
    least < MINUTE_MS
      ? Math.max(1, niceCeiling(least))
      : (TICK_STEPS.find((each) => each >= least) ?? Number.POSITIVE_INFINITY);
  const marks: AxisMark[] = [];
  let from = span.from;
  for (const cut of [...cuts, { from: span.to, to: span.to }]) {
    for (let at = from + step; at < cut.from; at += step) {
      const text = from === span.from ? formatDuration(at - startedAt) : `+${formatDuration(at - from)}`;
      marks.push({ left: place(at), text });
    }
    from = cut.to;
    if (from > cut.from)
      marks.push({ left: place(cut.from), text: `cut ${formatDuration(from - cut.from)}`, isCut: true });
  }
  return marks;
}

/**
 * Returns the marks whose texts have room beside those before.
 *
 * @param character width that a text takes per character on either side of its place, in percent
 */
export function fitMarks(marks: readonly AxisMark[], character: number): readonly AxisMark[] {
  const shown: AxisMark[] = [];
  for (const mark of marks) {
    if (shown.every(({ left, text }) => Math.abs(left - mark.left) > (text + mark.text).length * character))
      shown.push(mark);
  }
  return shown;
}

/** Returns the long times of a span in which no row runs. */
export function waitsIn(span: TimeSpan, rows: readonly TraceRow[]): readonly TimeSpan[] {
  const busy = joinPeriods(rows.flatMap(({ bars }) => bars.filter(isBusy)));
  return gapsIn(span, busy).filter(({ from, to }) => to - from > MIN_CUT * (span.to - span.from));
}

/** Number of elements of a step that are shown one by one. */
const MAX_ELEMENTS = 8;
/** Number of parts of the bar of joined elements. Of more, those near each other are one. */
const MAX_PARTS = 60;

/**
 * Joins the elements of a step, such as those of `step.map`, into one row if they are many. The rows below an element
 * belong to it.
 *
 * @param open keys of the joined rows whose elements are shown
 */
export function joinElements(rows: readonly TraceRow[], open: ReadonlySet<string>): readonly TraceRow[] {
  let run = '';
  const keyed = rows.map((row) => {
    if (row.event !== null) run = row.key;
    // Name that elements share, and the name of a part of one.
    const [, name, part] = /^(.*?)(?:\[\d+\]|#\d+)(?: \/ (.*))?$/.exec(row.step) ?? [];
    return { row, key: name === undefined ? null : `${run} elements ${name}`, part };
  });
  const members = groupBy(
    keyed.filter(({ part }) => part === undefined),
    ({ key }) => key,
  );
  const shown: TraceRow[] = [];
  const done = new Set<string>();
  for (const { row, key } of keyed) {
    const elements = members.get(key) ?? [];
    if (key === null || elements.length <= MAX_ELEMENTS) {
      shown.push(row);
      continue;
    }
    if (!done.has(key)) {
      const joined = elements.map((element) => element.row);
      shown.push(joinedRow(key, joined, open.has(key)));
    }
    done.add(key);
    if (open.has(key)) shown.push({ ...row, depth: row.depth + 1 });
  }
  return shown;
}

function joinedRow(key: string, elements: readonly TraceRow[], isOpen: boolean): TraceRow {
  const bars = elements.flatMap((row) => row.bars);
  const periods = joinPeriods(bars.filter(isBusy));
  const { from, to } = spanOf(elements);
  const slowest = elements.reduce((a, b) => ((b.ranMs ?? 0) > (a.ranMs ?? 0) ? b : a));
  const times = elements.flatMap(({ ranMs }) => ranMs ?? []).sort((a, b) => a - b);
  const median = times[(times.length - 1) >> 1];
  const states = elements.map(({ state }) => state);
  const failed = states.filter((state) => state === 'failed').length;
  const state: TraceState =
    failed > 0
      ? 'failed'
      : (states.find((one) => one !== 'completed' && one !== 'waiting') ??
        (states.includes('waiting') ? 'active' : 'completed'));
  const name = slowest.name.replace(/(?:\[\d+\]|#\d+)$/, '');
  const notes = [
    failed > 0 && `${formatCount(failed)} failed (${formatPercent(failed / elements.length)})`,
    median !== undefined &&
      `median ${formatDuration(median)} · slowest ${slowest.name.slice(name.length)}: ${formatDuration(slowest.ranMs)}`,
  ];
  return {
    ...slowest,
    key,
    name: `${formatCount(elements.length)} × ${name}`,
    state,
    bars: joinPeriods(periods, periods.length > MAX_PARTS ? (to - from) / MAX_PARTS : 0).map((period) => ({
      ...period,
      tone: state === 'failed' || state === 'completed' ? state : 'active',
    })),
    waitedMs: null,
    ranMs: bars.length === 0 ? null : to - from,
    note: notes.filter(Boolean).join(' · '),
    isOpen,
  };
}

/**
 * Folds the calls of tools into the turn of the agent that made them, if all completed. A turn has their time in any case.
 *
 * @param open keys of the turns whose calls are shown
 */
export function foldTurns(rows: readonly TraceRow[], open: ReadonlySet<string>): readonly TraceRow[] {
  const shown: TraceRow[] = [];
  let end = 0;
  for (const [at, row] of rows.entries()) {
    if (at < end) continue;
    end = at + 1;
    while (row.kind === 'model' && rows[end]?.step.startsWith(`${row.step} / `)) end += 1;
    const calls = rows.slice(at + 1, end);
    if (calls.length === 0) {
      shown.push(row);
      continue;
    }
    const bars = [row, ...calls].flatMap((each) => each.bars);
    const isDone = calls.every(({ state }) => state === 'completed');
    const isOpen = !isDone || open.has(row.key);
    shown.push({
      ...row,
      kind: isOpen ? '' : callsText(row, calls),
      bars,
      ranMs: totalMs(joinPeriods(bars.filter(isBusy))),
      ...(isDone && { isOpen }),
    });
    if (isOpen) shown.push(...foldTurns(calls, open));
  }
  return shown;
}

/** Describes the calls of a turn. What they called in turn, as a delegate does, is part of them. */
function callsText(turn: TraceRow, all: readonly TraceRow[]): string {
  const depth = stepPath(turn.step).length + 1;
  const calls = all.filter(({ step }) => stepPath(step).length === depth);
  const [first] = calls;
  const name = calls.length === 1 ? (first?.name ?? '') : `${calls.length} calls`;
  return `${formatDuration(sumOf(calls, ({ ranMs }) => ranMs ?? 0))} ${name}`;
}

/** Returns the times in which rows run, without those of rows that run with their parts. */
function ownTimes(rows: readonly TraceRow[]): readonly TraceBar[] {
  return rows.flatMap(({ bars, event, kind, step }, at) => {
    const hasParts = (event?.steps?.length ?? 0) > 0 || rows[at + 1]?.step.startsWith(`${step} / `);
    return kind === 'attempt' ? [] : bars.filter((bar) => isBusy(bar) && (bar.isModel === true || !hasParts));
  });
}

/** Returns the largest number of rows that run at once. */
export function mostAtOnce(rows: readonly TraceRow[]): number {
  let count = 0;
  return ownTimes(rows)
    .flatMap(({ from, to }) => [[from, 1] as const, [to, -1] as const])
    .sort((a, b) => a[0] - b[0] || a[1] - b[1])
    .reduce((most, [, change]) => {
      count += change;
      return Math.max(most, count);
    }, 0);
}

/** Buckets of the overview. */
export const BUCKETS = 120;

/** Returns the number of rows that run at once in each part of a span, on average, for an overview. */
export function busyRows(rows: readonly TraceRow[], { from, to }: TimeSpan): readonly number[] {
  const counts = Array<number>(BUCKETS).fill(0);
  const placeOf = (at: number): number => ((at - from) / (to - from)) * BUCKETS;
  for (const bar of ownTimes(rows)) {
    const [start, end] = [placeOf(bar.from), placeOf(bar.to)];
    for (let index = Math.floor(start); index < end; index += 1)
      counts[index] = (counts[index] ?? 0) + Math.min(end, index + 1) - Math.max(start, index);
  }
  return counts;
}

/** Returns true for a row that has a part in a span. */
export function isWithin({ bars }: Pick<TraceRow, 'bars'>, { from, to }: TimeSpan): boolean {
  return bars.some((bar) => bar.from < to && bar.to > from);
}
