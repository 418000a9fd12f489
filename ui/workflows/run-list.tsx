import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { RunIntrospection, StepIntrospection } from '../../server/dashboard/protocol.js';
import { formatMoment } from '../format/clock-time.js';
import { formatAge, formatAgo, formatDuration } from '../format/duration.js';
import { counted, formatCount } from '../format/number.js';
import { IdLink } from '../shared/links.js';
import { sumOf } from '../shared/lists.js';
import { lookOf, StateLabel } from '../shared/states.js';
import { Ago } from '../shared/times.js';
import { useKept } from '../shared/use-element.js';
import { type State, stepState } from './workflow-summary.js';

export interface RunListProps {
  readonly runs: readonly RunIntrospection[];
  /** Current time in epoch milliseconds on the server's clock. */
  readonly serverNow: number;
  /** Query that links retain. */
  readonly query: string;
}

/** Number of runs in a row with one error from which all but the first are folded. */
const MIN_ALIKE = 3;

/**
 * Runs of a workflow, one line each, with the duration of every step as a part of a bar. Those that failed alike in a row
 * are one line, with a button that shows the others.
 */
export function RunList({ runs, serverNow, query }: RunListProps): JSX.Element {
  const kept = useKept();
  const [open, setOpen] = useState<string>();
  const lineOf = (run: RunIntrospection, repeatsError: boolean): JSX.Element => {
    const { id, status, acceptedAt, endedAt } = run;
    const line = (): JSX.Element => (
      <RunLine key={id} run={run} repeatsError={repeatsError} serverNow={serverNow} query={query} />
    );
    // What the line of an ended run shows changes with the time alone.
    return endedAt === undefined
      ? line()
      : kept(id, `${status} ${endedAt} ${formatAgo(serverNow - acceptedAt)} ${repeatsError} ${query}`, line);
  };
  return (
    <ol class="runs" aria-label="Recent runs">
      {failedAlike(runs).flatMap(([first, ...others]) => {
        const oldest = others.at(-1);
        const lines = [lineOf(first, false), ...others.map((run) => lineOf(run, true))];
        if (oldest === undefined || lines.length < MIN_ALIKE) return lines;
        // Newer ones may join it, and the oldest may leave.
        const isOpen = others.some(({ id }) => id === open);
        const more = (
          <li key={`more ${oldest.id}`} class="run-more">
            <button
              type="button"
              class="button"
              aria-expanded={isOpen}
              onClick={() => setOpen(isOpen ? undefined : others[0]?.id)}
            >
              {formatCount(others.length)} more alike in {formatAge(first.acceptedAt - oldest.acceptedAt)}
            </button>
          </li>
        );
        lines.splice(1, isOpen ? 0 : others.length, more);
        return lines;
      })}
    </ol>
  );
}

/** Returns runs in their order, those in a row that failed with the same error together. */
export function failedAlike(runs: readonly RunIntrospection[]): readonly [RunIntrospection, ...RunIntrospection[]][] {
  const groups: [RunIntrospection, ...RunIntrospection[]][] = [];
  for (const run of runs) {
    const last = groups.at(-1);
    const error = errorOf(run);
    if (last !== undefined && error !== '' && error === errorOf(last[0])) last.push(run);
    else groups.push([run]);
  }
  return groups;
}

/** Returns the error of a run, apart from its ids: numbers of four digits and more. Empty without an error. */
function errorOf({ attempt, error }: RunIntrospection): string {
  return error === undefined ? '' : `${attempt} ${error.name} ${error.message.replace(/\d[\da-f-]{3,}/gi, '')}`;
}

interface RunLineProps extends Omit<RunListProps, 'runs'> {
  readonly run: RunIntrospection;
  /** Its error is that of the run above. */
  readonly repeatsError: boolean;
}

function RunLine({ run, repeatsError, serverNow, query }: RunLineProps): JSX.Element {
  const { id, status, attempt, acceptedAt, endedAt, inbox } = run;
  const error = repeatsError ? undefined : run.error;
  const wait = run.steps.findLast((step) => step.waitsFor !== undefined && !ENDED.includes(step.status));
  return (
    <li class="run">
      <div class="run-line">
        <StateLabel state={status} />
        <IdLink id={id} name="run" query={query} />
        <Segments run={run} serverNow={serverNow} />
        <span class="run-total">{formatTaken(status, (endedAt ?? serverNow) - acceptedAt)}</span>
        <Ago at={acceptedAt} now={serverNow} />
      </div>
      {repeatsError && <span class="visually-hidden">same error</span>}
      {error && (
        <p class="run-note" title={error.message}>
          <strong class="tone-failed">{error.name}</strong> {error.message}
          {attempt > 1 && <span class="muted"> · attempt {attempt}</span>}
        </p>
      )}
      {wait && !error && <RunWait step={wait} serverNow={serverNow} query={query} />}
      {inbox !== undefined && inbox.dropped > 0 && (
        <p class="run-note tone-stale">
          {counted(inbox.dropped, 'received event was', 'received events were')} dropped: a run keeps at most 1,000
          events and 1 MiB
        </p>
      )}
    </li>
  );
}

const ENDED: readonly State[] = ['completed', 'failed', 'cancelled'];

function Segments({ run, serverNow }: { run: RunIntrospection; serverNow: number }): JSX.Element {
  const kept = useKept();
  const segments = atMost(runSegments(run, serverNow));
  const total = sumOf(segments, ({ durationMs }) => growOf(durationMs));
  const items = segments.map((segment) => ({
    ...segment,
    isNamed: growOf(segment.durationMs) >= (segment.name.length + 2) * CHARACTER_SHARE * total,
  }));
  // The steps that have ended are one part, which a poll passes by.
  const open = items.findIndex(({ status }) => !ENDED.includes(status));
  const ended = open === -1 ? items : items.slice(0, open);
  return (
    <ol class="run-segments" aria-label="Steps">
      {kept('', JSON.stringify(ended), () => (
        <>{ended.map(segmentItem)}</>
      ))}
      {items.slice(ended.length).map(segmentItem)}
    </ol>
  );
}

/** Share of a bar that a character of a name takes. Elements for names without room would cost more than the page. */
const CHARACTER_SHARE = 0.008;

function segmentItem({ key, name, status, durationMs, isNamed }: RunSegment & { isNamed: boolean }): JSX.Element {
  const text = `${name}: ${lookOf(status)[1].toLowerCase()}, ${formatTaken(status, durationMs)}`;
  return (
    <li
      key={key}
      class={`run-segment is-${status}${isNamed ? ' is-named' : ''}`}
      style={{ flexGrow: growOf(durationMs) }}
      title={text}
    >
      {isNamed ? (
        <>
          <span class="visually-hidden">{text}</span>
          <span aria-hidden="true" class="run-segment-name">
            {name}
          </span>
        </>
      ) : (
        text
      )}
    </li>
  );
}

/** Formats a duration. That of what waits is in whole units: seconds would change every line at every poll. */
function formatTaken(state: State, ms: number): string {
  return state === 'waiting' || state === 'suspended' ? formatAge(ms) : formatDuration(ms);
}

/** Returns the width of a segment. Two digits: the bar of a long wait does not change at every poll. */
function growOf(durationMs: number): number {
  return Number(Math.max(1, durationMs).toPrecision(2));
}

interface RunWaitProps {
  readonly step: StepIntrospection;
  readonly serverNow: number;
  readonly query: string;
}

/** Condition that a run waits for, since when and until when. */
function RunWait({ step, serverNow, query }: RunWaitProps): JSX.Element {
  const { since = serverNow, dueAt } = step.waitsFor ?? {};
  return (
    <p class="run-note muted">
      waits for <WaitTarget step={step} query={query} /> · for {formatAge(serverNow - since)}
      {dueAt !== undefined && ` · until ${formatMoment(dueAt, Date.now())}`}
    </p>
  );
}

/** Condition that a step waits for. A child run is a link. */
export function WaitTarget({ step, query }: Pick<RunWaitProps, 'step' | 'query'>): JSX.Element {
  const { event, runId } = step.waitsFor ?? {};
  const time = step.kind === 'sleep' ? 'its time' : 'the next attempt';
  return (
    <>
      {event ? `event ${event.type}${runId === undefined ? '' : ' or '}` : runId === undefined && time}
      {runId !== undefined && (
        <>
          run <IdLink id={runId} name="run" query={query} />
        </>
      )}
    </>
  );
}

/** Part of a run that one step took. */
export interface RunSegment {
  /** Identity of the step in its run. */
  readonly key: string;
  readonly name: string;
  readonly status: State;
  /** Duration; of an unfinished step the time since the last finished one. */
  readonly durationMs: number;
}

/**
 * Returns the steps that a run has reached, with their durations. The step in which the run is or failed has the time that
 * the others leave.
 *
 * @param now current time in epoch milliseconds on the server's clock
 */
export function runSegments(run: RunIntrospection, now: number): readonly RunSegment[] {
  const { steps, acceptedAt, endedAt } = run;
  const totalMs = Math.max(0, (endedAt ?? now) - acceptedAt);
  // Of a step between two attempts, the duration is that of the last attempt.
  const endedMs = (step: StepIntrospection): number | undefined =>
    stepState(step) === 'retrying' ? undefined : step.durationMs;
  const knownMs = sumOf(steps, (step) => endedMs(step) ?? 0);
  const segments = steps.flatMap((step): RunSegment[] => {
    const { kind, name } = step;
    const status = stepState(step);
    const durationMs = endedMs(step);
    if (status === 'waiting' && durationMs === undefined) return [];
    return [{ key: `${kind} ${name}`, name, status, durationMs: durationMs ?? Math.max(0, totalMs - knownMs) }];
  });
  // The step of a function that runs is recorded when it ends.
  if (run.status !== 'active' || segments.some(({ status }) => !ENDED.includes(status))) return segments;
  const lastEnd = Math.max(acceptedAt, ...steps.map((step) => step.endedAt ?? 0));
  return [...segments, { key: 'now', name: 'running', status: 'active', durationMs: Math.max(0, now - lastEnd) }];
}

/** Number of segments of a bar: more are narrower than a pixel, and cost each poll as much as the rest of the page. */
const MAX_SEGMENTS = 60;

/** Joins the segments beyond the 59th into one. */
export function atMost(segments: readonly RunSegment[]): readonly RunSegment[] {
  if (segments.length <= MAX_SEGMENTS) return segments;
  const rest = segments.slice(MAX_SEGMENTS - 1);
  const joined: RunSegment = {
    key: 'rest',
    name: `${formatCount(rest.length)} more`,
    status: rest.find(({ status }) => status === 'failed')?.status ?? rest.at(-1)?.status ?? 'completed',
    durationMs: sumOf(rest, ({ durationMs }) => durationMs),
  };
  return [...segments.slice(0, MAX_SEGMENTS - 1), joined];
}

/** Sorts runs: failed ones first, then as they are. */
export function failedFirst<T extends RunIntrospection>(runs: readonly T[]): readonly T[] {
  const isFailed = ({ status }: T): boolean => status === 'failed';
  return [...runs.filter(isFailed), ...runs.filter((run) => !isFailed(run))];
}
