import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ReleaseIntrospection, RunIntrospection } from '../../server/dashboard/protocol.js';
import type { Api } from '../api/api.js';
import type { RunList as Body } from '../api/decode-views.js';
import { formatMoment, formatTime } from '../format/clock-time.js';
import { counted } from '../format/number.js';
import { Failure } from '../shared/view-section.js';
import { RunList } from './run-list.js';

/** Time in which listed runs were accepted. */
export interface RunPeriod {
  /** Identity in the list of periods. */
  readonly key: string;
  readonly label: string;
  /** Epoch milliseconds; `from` is included, `to` is not. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** Key of the period that shows the sample of runs which each poll renews. */
export const LIVE = 'live';

const HOUR_MS = 3_600_000;

/**
 * Returns the periods by which retained runs can be listed: the latest hours, and the times of the releases of their
 * services, the latest first.
 *
 * @param now epoch milliseconds on the server's clock
 */
export function runPeriods(
  releases: readonly ReleaseIntrospection[],
  services: ReadonlySet<string>,
  now: number,
): readonly RunPeriod[] {
  const own = releases.filter(({ service }) => services.has(service));
  const ofRelease = own.map(({ service, release, startedAt }, index): RunPeriod => {
    const next = own.slice(index + 1).find((other) => other.service === service);
    const name = services.size > 1 ? `${release} of ${service}` : release;
    const label = `Release ${name}, from ${formatMoment(startedAt, now)}`;
    return { key: `release ${service} ${release} ${startedAt}`, label, from: startedAt, to: next?.startedAt };
  });
  return [
    { key: LIVE, label: 'Recent runs, live' },
    { key: 'all', label: 'All retained runs' },
    { key: '1h', label: 'Accepted in the last hour', from: now - HOUR_MS },
    { key: '24h', label: 'Accepted in the last 24 h', from: now - 24 * HOUR_MS },
    ...ofRelease.reverse(),
  ];
}

export interface RetainedRunsProps {
  readonly workflow: string;
  /** Status of the listed runs; all if empty. */
  readonly status: readonly RunIntrospection['status'][];
  readonly period: RunPeriod;
  readonly listRuns: Api['runs'];
  /** Current time in epoch milliseconds on the server's clock. */
  readonly serverNow: number;
  /** Query that links retain. */
  readonly query: string;
}

/** Pages that are read at once at most, because a page may have no run that matches. */
const MAX_PAGES = 5;

/** List of all retained runs that match, in pages. It does not change by itself: a reader works through it. */
export function RetainedRuns({ workflow, status, period, listRuns, serverNow, query }: RetainedRunsProps): JSX.Element {
  const [body, setBody] = useState<Body | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [isLoading, setLoading] = useState(true);
  const loading = useRef<AbortController | null>(null);
  const load = async (before: Body | null): Promise<void> => {
    loading.current?.abort();
    const abort = new AbortController();
    loading.current = abort;
    setLoading(true);
    setError(null);
    let last = before;
    try {
      for (let pages = 0; pages < MAX_PAGES; pages += 1) {
        const { from, to } = period;
        const page = await listRuns(workflow, { status, from, to, after: last?.after }, abort.signal);
        last = last === null ? page : { ...page, runs: [...last.runs, ...page.runs] };
        setBody(last);
        if (page.after === undefined || page.runs.length > 0) break;
      }
    } catch (cause) {
      if (abort.signal.aborted) return;
      setError(cause instanceof Error ? cause.message : String(cause));
    }
    setLoading(false);
  };
  useEffect(() => {
    setBody(null);
    void load(null);
    return () => loading.current?.abort();
  }, [workflow, status.join(), period.key]);
  return (
    <>
      {error !== null && <Failure message={error} />}
      <p class="muted" role="status">
        {body === null
          ? isLoading && 'Loading…'
          : `${
              body.runs.length === 0 && body.after === undefined
                ? 'No such run is retained'
                : `${counted(body.runs.length, 'run')}${body.after === undefined ? ', all of them' : ' so far'}`
            }, as of ${formatTime(body.now)}`}
      </p>
      {body?.runs[0] && <RunList runs={body.runs} serverNow={serverNow} query={query} />}
      <div class="run-filters">
        {body?.after !== undefined && (
          <button type="button" class="button" disabled={isLoading} onClick={() => void load(body)}>
            {isLoading ? 'Loading…' : 'Show older runs'}
          </button>
        )}
        <button type="button" class="button" disabled={isLoading} onClick={() => void load(null)}>
          Read again
        </button>
      </div>
    </>
  );
}
