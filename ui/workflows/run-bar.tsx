import type { JSX } from 'preact';
import type { RunIntrospection } from '../../server/dashboard/protocol.js';
import { formatAge, formatDuration } from '../format/duration.js';
import { formatCount } from '../format/number.js';
import { lookOf } from '../shared/states.js';
import { isBusy, spanOf, stepBars, type TimeSpan } from './step-bars.js';
import { type State, stepState } from './workflow-summary.js';

export interface RunBarProps {
  readonly run: RunIntrospection;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly serverNow: number;
}

/**
 * Steps of a run in their time. Of steps at the same time, the longest one has its name, and the others are thin bars below
 * it. An outline is time in which the run waits.
 */
export function RunBar({ run, serverNow }: RunBarProps): JSX.Element {
  const { acceptedAt, endedAt } = run;
  const segments = atMost(runSegments(run, serverNow));
  const below = belowOthers(segments);
  const end = endedAt ?? serverNow;
  // Two digits: the bar of a long wait does not change at every poll.
  const axisMs = Math.max(1, endedAt === undefined ? Number((end - acceptedAt).toPrecision(2)) : end - acceptedAt);
  const place = (at: number): number => Math.min(100, Math.round((1e4 * (at - acceptedAt)) / axisMs) / 100);
  return (
    <ol class="run-segments" aria-label="Steps">
      {segments.map(({ key, name, status, from, to }) => {
        const left = place(from);
        const width = (to < end ? place(to) : 100) - left;
        const text = `${name}: ${lookOf(status)[1].toLowerCase()}, ${formatTaken(status, to - from)}`;
        const isBelow = below.has(key);
        const isNamed = !isBelow && width >= (name.length + 2) * CHARACTER_PERCENT;
        return (
          <li
            key={key}
            class={`run-segment is-${status}${isNamed ? ' is-named' : ''}${isBelow ? ' is-below' : ''}`}
            style={{ left: `min(${left}%, 100% - 5px)`, width: `${width}%` }}
            title={text}
          >
            {isNamed ? (
              <>
                <span class="visually-hidden">{text}</span>
                <span aria-hidden class="run-segment-name">
                  {name}
                </span>
              </>
            ) : (
              text
            )}
          </li>
        );
      })}
    </ol>
  );
}

/** Percent of a bar that a character of a name takes. Elements for names without room would cost more than the page. */
const CHARACTER_PERCENT = 0.8;

/** Formats a duration. That of what waits is in whole units: seconds would change every line at every poll. */
export function formatTaken(state: RunSegment['status'], ms: number): string {
  return state === 'waiting' || state === 'suspended' ? formatAge(ms) : formatDuration(ms);
}

/** Step of a run in its time. */
export interface RunSegment extends TimeSpan {
  /** Identity of the step in its run. */
  readonly key: string;
  readonly name: string;
  /** `waited`: the step waited, and no longer does. */
  readonly status: State | 'waited';
}

/**
 * Returns the steps that a run has reached, each in the time of its last attempt or of its wait. A step without times has
 * those that the others leave.
 *
 * @param now current time in epoch milliseconds on the server's clock
 */
export function runSegments(run: RunIntrospection, now: number): readonly RunSegment[] {
  const { steps, acceptedAt, endedAt, status } = run;
  const end = endedAt ?? now;
  const lastEnd = Math.max(acceptedAt, ...steps.map((step) => step.endedAt ?? 0));
  const segments = steps.flatMap((step): RunSegment[] => {
    const { kind, name } = step;
    const state = stepState(step);
    // It has not begun.
    if (state === 'waiting') return [];
    const last = stepBars(step, end).bars.at(-1);
    const hasWaited = last !== undefined && !isBusy(last) && state === 'completed';
    const { from, to } = last ?? { from: lastEnd, to: end };
    return [{ key: `${kind} ${name}`, name, status: hasWaited ? 'waited' : state, from, to }];
  });
  // The step of a function that runs is recorded when it ends.
  if (status !== 'active' || steps.some((step) => ['active', 'retrying', 'suspended'].includes(stepState(step))))
    return segments;
  return [...segments, { key: 'now', name: 'running', status, from: lastEnd, to: end }];
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
    ...spanOf([{ bars: rest }]),
  };
  return [...segments.slice(0, MAX_SEGMENTS - 1), joined];
}

/** Milliseconds by which a step may begin before the last one ended: times are rounded. */
const NEAR_MS = 2;

/** Returns the keys of the segments that share their time with one that is longer or failed. */
export function belowOthers(segments: readonly RunSegment[]): ReadonlySet<string> {
  const rankOf = ({ status, from, to }: RunSegment): number => (status === 'failed' ? Infinity : to - from);
  const above: RunSegment[] = [];
  const below = new Set<string>();
  for (const segment of [...segments].sort((a, b) => rankOf(b) - rankOf(a) || 0)) {
    if (above.some(({ from, to }) => Math.min(to, segment.to) - Math.max(from, segment.from) > NEAR_MS))
      below.add(segment.key);
    else above.push(segment);
  }
  return below;
}
