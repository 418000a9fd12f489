import type {
  AttemptIntrospection,
  EventDetails,
  StepIntrospection,
  StepStatus,
} from '../../server/dashboard/protocol.js';
import { formatCost, formatCount } from '../format/number.js';
import { groupBy, sumOf } from '../shared/lists.js';
import {
  type Bar,
  gapsIn,
  isBusy,
  isOver,
  joinPeriods,
  spanOf,
  stepBars,
  WAITING_KINDS,
} from '../workflows/step-bars.js';

/** Row of a trace: an event, a run, an attempt or a step. */
export interface TraceRow {
  /** Identity in the trace. */
  readonly key: string;
  /** Depth in the tree, from 0. */
  readonly depth: number;
  readonly kind: string;
  readonly name: string;
  readonly state: TraceState;
  /** Parts of the time axis, in the order in which they are drawn. */
  readonly bars: readonly TraceBar[];
  /** Milliseconds that it waited; `null` if it did not wait or if that is not known. */
  readonly waitedMs: number | null;
  /** Milliseconds that it ran; `null` before it has run. */
  readonly ranMs: number | null;
  /** Error, what it waits for, or the message of its progress; empty if there is nothing to say. */
  readonly note: string;
  /** Event or run; `null` for its parts. */
  readonly event: EventDetails | null;
  /** Id of the step; empty for events and attempts. */
  readonly step: string;
  /** Present in a row that stands for others, which it shows or hides. */
  readonly isOpen?: boolean;
}

/** Part of the time axis. */
export interface TraceBar extends Bar {
  /** True for the time of a model. */
  readonly isModel?: boolean;
}

/** Returns the names of the steps that contain a step, and its own, outermost first. */
export function stepPath(name: string): readonly string[] {
  return name.split(' / ');
}

/** Events of a request that a body has at most. */
const MAX_EVENTS = 1_000;

/**
 * Returns the tree of a request as rows: each event with its attempts and steps, then the events that it led to. A child
 * run follows the step that invoked it.
 *
 * @param now current time in epoch milliseconds on the server's clock
 * @param model model that all turns have, which rows do not repeat
 */
export function traceRows(events: readonly EventDetails[], now: number, model?: string): readonly TraceRow[] {
  const known = new Set(events.map(({ id }) => id));
  const byCause = new Map(
    groupBy(events, ({ causeId, id }) => (causeId && causeId !== id && known.has(causeId) ? causeId : null)),
  );
  const rows: TraceRow[] = [];
  const add = (event: EventDetails, depth: number): void => {
    rows.push(eventRow(event, depth, now));
    const parts = partsOf(event, depth + 1, now, model);
    const others = new Set(byCause.get(event.id));
    // An event that several services handle leads to others only once.
    byCause.delete(event.id);
    const invoked = new Map([...others].map((child) => [child.parentStep, child]));
    for (const part of parts) {
      const isInvoke = part.kind === 'invoke';
      const child = isInvoke ? invoked.get(part.step) : undefined;
      // A fork has steps that its origin recorded: their child runs stand below the origin.
      const isWhole = !event.forkOf && events.length < MAX_EVENTS;
      const isGone = isWhole && isInvoke && !child && isOver(part.state) && part.note === '';
      rows.push(isGone ? { ...part, note: 'its run is no longer retained' } : part);
      if (!child) continue;
      others.delete(child);
      add(child, part.depth + 1);
    }
    for (const child of others) add(child, depth + 1);
  };
  for (const root of byCause.get(null) ?? []) add(root, 0);
  return rows;
}

function eventRow(event: EventDetails, depth: number, now: number): TraceRow {
  const { kind, type, service, status, startedAt, error, progress, omittedSteps = 0 } = event;
  const bars = eventBars(event, now);
  const notes = [
    error?.message,
    status === 'delayed' && 'waits for its time',
    progress?.message,
    omittedSteps > 0 && `the first ${formatCount(omittedSteps)} steps are left out`,
  ];
  return {
    key: JSON.stringify([event.id, service]),
    depth,
    kind,
    name: type,
    state: status,
    bars,
    // Also between its attempts or steps. Of what ended before it ran, as far as it is known, it is unknown.
    waitedMs:
      startedAt === undefined && isOver(status) && !bars.some(isBusy)
        ? null
        : sumOf(bars, ({ from, to, tone }) => (tone === 'waiting' ? to - from : 0)),
    ranMs: ranMs(event, now),
    note: notes.filter(Boolean).join(' · '),
    event,
    step: '',
  };
}

/** Returns the milliseconds that an event ran, with those of a running attempt so far; `null` before it has run. */
function ranMs({ status, attempts, runMs }: EventDetails, now: number): number | null {
  const running = status === 'active' && attempts.find((attempt) => attemptState(attempt) === 'active');
  return running ? (runMs ?? 0) + now - running.startedAt : (runMs ?? null);
}

/** Returns the bars of an event or a run: solid where its attempts or its steps run, and waiting between them. */
function eventBars(event: EventDetails, now: number): readonly Bar[] {
  const { acceptedAt, endedAt, attempts, steps, status } = event;
  const end = Math.max(acceptedAt, endedAt ?? now);
  const attemptBars = attempts.map((attempt): Bar => {
    const { startedAt, endedAt: to = end } = attempt;
    const state = attemptState(attempt);
    return {
      from: startedAt,
      to,
      tone: toneOf(state === 'completed' && to === end && status !== 'filtered' ? status : state),
    };
  });
  // The attempts of a run are those that were interrupted.
  const busy = attempts.length === 0 || steps !== undefined ? runBars(event, end) : attemptBars;
  const whole = { from: acceptedAt, to: end };
  const waits = busy.length === 0 ? [whole] : gapsIn(whole, busy);
  return [...busy, ...waits.map((wait): Bar => ({ ...wait, tone: 'waiting' }))].sort((a, b) => a.from - b.from);
}

const BUSY_OR_OVER = ['active', 'completed', 'failed', 'cancelled', 'interrupted'] as const;

function toneOf(status: TraceState): Bar['tone'] {
  return BUSY_OR_OVER.find((tone) => tone === status) ?? 'waiting';
}

function attemptState({ endedAt, error, isInterrupted }: AttemptIntrospection): TraceState {
  if (isInterrupted === true) return 'interrupted';
  if (endedAt === undefined) return 'active';
  return error === undefined ? 'completed' : 'failed';
}

/** Returns the attempts of an event, if it has several, or the interrupted ones and the steps of a run. */
function partsOf(event: EventDetails, depth: number, now: number, model: string | undefined): readonly TraceRow[] {
  const { id, service, attempts, steps = [] } = event;
  const own = JSON.stringify([id, service]);
  const stepRows = steps.map((step, index) => stepRow(step, `${own} ${index}`, depth, now, model));
  if (attempts.length < 2 && attempts[0]?.isInterrupted !== true) return stepRows;
  const attemptRows = attempts.map((each, index): TraceRow => {
    const { attempt, startedAt, endedAt, error } = each;
    const state = attemptState(each);
    return {
      key: `${own} attempt ${index}`,
      depth,
      kind: 'attempt',
      name: `Attempt ${attempt}`,
      state,
      bars: [{ from: startedAt, to: endedAt ?? now, tone: toneOf(state) }],
      waitedMs: null,
      // The times of an interrupted attempt are those that are known: it may have ended earlier.
      ranMs: state === 'interrupted' ? null : (endedAt ?? now) - startedAt,
      note: error?.message ?? '',
      event: null,
      step: '',
    };
  });
  return [...attemptRows, ...stepRows];
}

function stepRow(
  step: StepIntrospection,
  key: string,
  depth: number,
  now: number,
  model: string | undefined,
): TraceRow {
  const path = stepPath(step.name);
  const { state, bars, waitedMs, ranMs } = stepBars(step, now);
  return {
    key,
    depth: depth + path.length - 1,
    kind: step.kind,
    name: path.at(-1) ?? step.name,
    state,
    bars: step.kind === 'model' ? bars.map((bar) => ({ ...bar, isModel: true })) : bars,
    waitedMs,
    ranMs,
    note: step.error?.message || stepTitle(step) || turnFacts(step, model),
    event: null,
    step: step.name,
  };
}

/**
 * Returns the times in which the steps of a run ran, as its running time counts.
 *
 * @param end end of the run, or the current time
 */
function runBars({ startedAt, status, steps = [], omittedSteps = 0 }: EventDetails, end: number): readonly Bar[] {
  if (startedAt === undefined) return [];
  const tone = toneOf(status);
  const parts = steps.map((step) => ({ kind: step.kind, bars: stepBars(step, end).bars }));
  if (parts.every(({ bars }) => bars.length === 0))
    return tone === 'waiting' ? [] : [{ from: startedAt, to: end, tone }];
  const { from: first, to: last } = spanOf(parts);
  const busy = joinPeriods([
    // Steps that are not shown ran before.
    ...(omittedSteps > 0 ? [{ from: startedAt, to: first }] : []),
    ...parts.flatMap(({ kind, bars }) => (WAITING_KINDS.includes(kind) ? [] : bars.filter(isBusy))),
    // The function runs between its steps, and is about to begin the next one.
    ...(tone === 'active' ? [{ from: last, to: end }] : []),
  ]);
  return busy.flatMap((period): readonly Bar[] => {
    const from = Math.max(startedAt, period.from);
    const to = Math.min(period.to, end);
    // Only what lasts until now runs.
    const isPast = tone === 'waiting' || (tone === 'active' && to < end);
    return from < to ? [{ from, to, tone: isPast ? 'completed' : tone }] : [];
  });
}

/** Returns what a step waits for, or waited for when its run ended; empty if it does not wait. */
function stepTitle({ status, waitsFor }: StepIntrospection): string {
  if (waitsFor === undefined) return '';
  const { event, runId, dueAt } = waitsFor;
  const target = event?.type ?? (runId === undefined ? dueAt && 'its time' : `run ${runId.slice(0, 8)}`);
  return `${status === 'cancelled' ? 'waited' : 'waits'}${target ? ` for ${target}` : ''}`;
}

/** State of a row of a trace. */
export type TraceState = EventDetails['status'] | StepStatus | 'interrupted';

/** Formats a count in the width of five characters: the spaces are as wide as digits. */
function aligned(count: number): string {
  return formatCount(count).padStart(5, '\u2007');
}

/** Returns the facts about a step of an agent: its model, unless all have it, its tokens and cost. Empty for other steps. */
function turnFacts({ turn = {} }: StepIntrospection, common: string | undefined): string {
  const { model, usage, isToolError } = turn;
  return [
    model !== common && model,
    usage && `${aligned(usage.promptTokens)} in ${aligned(usage.completionTokens)} out`,
    usage?.cost !== undefined && `cost\u00a0${formatCost(usage.cost)}`,
    isToolError && 'the model received an error',
  ]
    .filter(Boolean)
    .join(' · ');
}
