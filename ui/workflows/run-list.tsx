import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { RunIntrospection, StepIntrospection } from '../../server/dashboard/protocol.js';
import { formatMoment } from '../format/clock-time.js';
import { formatAge, formatAgo } from '../format/duration.js';
import { counted, formatCount } from '../format/number.js';
import { IdLink } from '../shared/links.js';
import { StateLabel } from '../shared/states.js';
import { Ago } from '../shared/times.js';
import { useKept } from '../shared/use-element.js';
import { formatTaken, RunBar } from './run-bar.js';
import { isOver } from './step-bars.js';

export interface RunListProps {
  readonly runs: readonly RunIntrospection[];
  /** Number of lines that are shown first; those that failed alike are one until they are opened. @default all */
  readonly limit?: number;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly serverNow: number;
  /** Query that links retain. */
  readonly query: string;
}

/** Number of runs in a row with one error from which they are one line. */
const MIN_ALIKE = 3;

/**
 * Runs of a workflow, one line each, with their steps as a bar. Those that failed alike in a row are one line, with a button
 * that shows the others.
 */
export function RunList({ runs, limit, serverNow, query }: RunListProps): JSX.Element {
  const kept = useKept();
  const [open, setOpen] = useState<string>();
  const keys = new Set<string>();
  const lineOf = (run: RunIntrospection, repeatsError = false, more?: JSX.Element): JSX.Element => {
    const { id, status, acceptedAt, endedAt } = run;
    const line = (): JSX.Element => (
      <RunLine
        key={more?.key ?? id}
        run={run}
        repeatsError={repeatsError}
        more={more}
        serverNow={serverNow}
        query={query}
      />
    );
    // What the line of an ended run shows changes with the time alone.
    return endedAt === undefined || more
      ? line()
      : kept(id, `${status} ${endedAt} ${formatAgo(serverNow - acceptedAt)} ${repeatsError} ${query}`, line);
  };
  return (
    <>
      <p class="run-line run-head" aria-hidden>
        <span>Status</span>
        <span>Run</span>
        <span class="keys run-keys">
          Steps, as a share of the run
          <span class="is-completed">ran</span>
          <span class="is-failed">failed</span>
          <span class="is-active">running</span>
          <span class="is-waited is-suspended">waiting</span>
          <span class="is-below is-completed">parallel steps</span>
        </span>
        <span class="run-total">Duration</span>
        <span class="run-total">Accepted</span>
      </p>
      <ol aria-label="Recent runs">
        {failedAlike(runs)
          .slice(0, limit)
          .flatMap(([first, ...others]) => {
            const oldest = others.at(-1);
            if (!oldest) return lineOf(first);
            // Newer runs may join them, and the oldest may leave: the error stays.
            let key = errorOf(first);
            while (keys.has(key)) key += '+';
            keys.add(key);
            const isOpen = open === key;
            const more = (
              <button
                key={key}
                type="button"
                class="run-more"
                aria-expanded={isOpen}
                onClick={() => setOpen(isOpen ? undefined : key)}
              >
                {formatCount(others.length)} more alike in {formatAge(first.acceptedAt - oldest.acceptedAt)}
              </button>
            );
            return [lineOf(first, false, more), ...(isOpen ? others.map((run) => lineOf(run, true)) : [])];
          })}
      </ol>
    </>
  );
}

/** Returns runs in their order, those in a row that failed with the same error together, if they are enough. */
export function failedAlike(runs: readonly RunIntrospection[]): readonly [RunIntrospection, ...RunIntrospection[]][] {
  const groups: [RunIntrospection, ...RunIntrospection[]][] = [];
  for (const run of runs) {
    const last = groups.at(-1);
    const error = errorOf(run);
    if (last !== undefined && error !== '' && error === errorOf(last[0])) last.push(run);
    else groups.push([run]);
  }
  return groups.flatMap((group) => (group[MIN_ALIKE - 1] ? [group] : group.map((run): typeof group => [run])));
}

/** Returns the error of a run, apart from its ids: numbers of four digits and more. Empty without an error. */
function errorOf({ attempt, error }: RunIntrospection): string {
  return error === undefined ? '' : `${attempt} ${error.name} ${error.message.replace(/\d[\da-f-]{3,}/gi, '')}`;
}

interface RunLineProps extends Omit<RunListProps, 'runs' | 'limit'> {
  readonly run: RunIntrospection;
  /** Its error is that of the run above. */
  readonly repeatsError: boolean;
  /** Button that shows the runs that failed alike. Its key is that of the line. */
  readonly more: JSX.Element | undefined;
}

function RunLine({ run, repeatsError, more, serverNow, query }: RunLineProps): JSX.Element {
  const { id, status, attempt, acceptedAt, endedAt, inbox } = run;
  const error = repeatsError ? undefined : run.error;
  const wait = run.steps.findLast((step) => step.waitsFor !== undefined && !isOver(step.status));
  const failed = run.steps.findLast((step) => step.error?.message === error?.message);
  const { since = serverNow, dueAt } = wait?.waitsFor ?? {};
  return (
    <li class="run">
      <div class="run-line">
        <StateLabel state={status} />
        <IdLink id={id} name="run" query={query} />
        <RunBar run={run} serverNow={serverNow} />
        <span class="run-total">{formatTaken(status, (endedAt ?? serverNow) - acceptedAt)}</span>
        <Ago at={acceptedAt} now={serverNow} />
      </div>
      {repeatsError && <span class="visually-hidden">same error</span>}
      {error && (
        <p class="run-note" title={error.message}>
          {more}
          <strong class="tone-failed">{error.name}</strong> {failed && `in ${failed.name}: `}
          {error.message}
          {attempt > 1 && <span class="muted"> · attempt {attempt}</span>}
        </p>
      )}
      {wait && !error && (
        <p class="run-note muted">
          waits for <WaitTarget step={wait} query={query} /> · for {formatAge(serverNow - since)}
          {dueAt && ` · until ${formatMoment(dueAt, Date.now())}`}
        </p>
      )}
      {inbox && inbox.dropped > 0 && (
        <p class="run-note tone-stale">
          {counted(inbox.dropped, 'received event was', 'received events were')} dropped: a run keeps at most 1,000
          events and 1 MiB
        </p>
      )}
    </li>
  );
}

export interface WaitTargetProps {
  readonly step: StepIntrospection;
  /** Query that the link retains. */
  readonly query: string;
}

/** Condition that a step waits for. A child run is a link. */
export function WaitTarget({ step, query }: WaitTargetProps): JSX.Element {
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

/** Sorts runs: failed ones first, then as they are. */
export function failedFirst<T extends RunIntrospection>(runs: readonly T[]): readonly T[] {
  return [...runs].sort((a, b) => Number(b.status === 'failed') - Number(a.status === 'failed'));
}
