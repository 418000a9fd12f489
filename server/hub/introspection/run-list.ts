import { InvalidOptionError, quote } from '../../errors.js';
import { OptionChecker } from '../../options.js';
import type { Redactor } from '../../redaction.js';
import { type EventRecord, type RunStatus, readRunPlace } from '../../transports/event-record.js';
import type { TransportManager } from '../../transports/transport.js';
import type { ListedStep, RunIntrospection } from '../runs/run-introspection.js';
import { introspectRecord } from './workflow-runs.js';

/** Query of `hub.listRuns`. */
export interface RunListQuery {
  /** Status of the runs, one or several. @default all */
  status?: RunStatus | readonly RunStatus[];
  /** Accepted at this time or later, in epoch milliseconds. */
  from?: number;
  /** Accepted before this time, in epoch milliseconds. */
  to?: number;
  /** `after` of the page before. */
  after?: string;
  /** Maximum number of runs per service, 1 to 200. @default 50 */
  limit?: number;
}

/** Run of a list. */
export interface ListedRun extends RunIntrospection {
  /** It can be replayed with `hub.replay`. */
  readonly isDeadLetter?: true;
}

/** Page of the runs of a workflow. Result of `hub.listRuns`. */
export interface RunList {
  /**
   * Newest first by acceptance, each with its last 100 steps; after them the dead letters whose runs are no longer
   * retained, with the step that failed. A page may be empty and have `after`.
   */
  readonly runs: readonly ListedRun[];
  /** Pass it as `after` for the next page; absent if there is none. */
  readonly after?: string;
}

const statuses: readonly RunStatus[] = ['waiting', 'active', 'suspended', 'completed', 'failed'];
const defaultLimit = 50;
const maxLimit = 200;
const maxSteps = 100;
/** Number of runs per service that a call reads at most: few of them may match. */
const maxRead = 1_000;
/** Number of runs that are read at once if only some of them may match. */
const filteredPage = 100;

/** Lists the retained runs of a type, over all services. @throws {InvalidOptionError} */
export async function listRuns(
  type: string,
  query: RunListQuery,
  listed: readonly ListedStep[],
  { counts, lookup }: Pick<TransportManager, 'counts' | 'lookup'>,
  redactor: Redactor,
): Promise<RunList> {
  const { limit = defaultLimit } = query;
  const matches = checkQuery(query);
  const places = readPlaces(query.after) ?? (await firstPlaces(type, counts));
  const readPage = async (service: string, size: number, after: string | undefined) => {
    const page = await lookup.runs(type, service, { limit: size, after });
    const runs = page.events.map((record) => listedRun(record, listed, redactor));
    return { runs, found: runs.filter(matches), size, after: page.after };
  };
  const read = async ([service, start]: Place): Promise<{ runs: readonly ListedRun[]; next: Place | undefined }> => {
    const runs: ListedRun[] = [];
    let after: string | undefined = start === '' ? undefined : start;
    for (let left = maxRead; left > 0 && runs.length < limit; ) {
      const room = limit - runs.length;
      let page = await readPage(service, Math.min(left, isFiltered(query) ? filteredPage : room), after);
      // The next page begins where this one ends: it must end before the first match that has no room.
      for (let over = page.found[room]; over !== undefined; over = page.found[room]) {
        page = await readPage(service, page.runs.indexOf(over), after);
      }
      runs.push(...page.found);
      left -= page.size;
      after = page.after;
      if (after === undefined) return { runs, next: undefined };
    }
    return { runs, next: [service, after ?? ''] };
  };
  const pages = await Promise.all(places.map(read));
  const left = pages.flatMap(({ next }) => (next === undefined ? [] : [next]));
  return {
    runs: pages.flatMap(({ runs }) => runs).sort((a, b) => b.acceptedAt - a.acceptedAt),
    ...(left.length > 0 && { after: JSON.stringify(left) }),
  };
}

/** Service, and the place in its runs; empty for the first one. */
type Place = readonly [service: string, after: string];

async function firstPlaces(type: string, counts: TransportManager['counts']): Promise<readonly Place[]> {
  const [found] = await counts.get([type]);
  return (found?.services ?? []).map(({ service }) => [service, '']);
}

function readPlaces(after: string | undefined): readonly Place[] | undefined {
  if (after === undefined) return undefined;
  const isPlace = (value: unknown): value is Place =>
    Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === 'string');
  const places = parseOrUndefined(after);
  if (!Array.isArray(places) || places.length > maxLimit || !places.every(isPlace)) {
    throw new InvalidOptionError('after of listRuns', '`after` of a result', after);
  }
  for (const [, place] of places) readRunPlace(place);
  return places;
}

function parseOrUndefined(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function isFiltered({ status, from, to }: RunListQuery): boolean {
  return (status ?? from ?? to) !== undefined;
}

/** Checks a query. Returns a function that returns `true` for the runs that it asks for. */
function checkQuery(query: RunListQuery): (run: ListedRun) => boolean {
  const check = new OptionChecker(query, ['status', 'from', 'to', 'after', 'limit'], 'listRuns');
  const { status, from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY, after, limit } = query;
  const wanted = status === undefined ? statuses : [status].flat();
  const unknown = wanted.find((each) => !statuses.includes(each));
  check.that(unknown === undefined, 'status', `some of ${statuses.map(quote).join(', ')}`, unknown);
  for (const name of ['from', 'to'] as const) {
    check.that(query[name] === undefined || Number.isFinite(query[name]), name, 'epoch milliseconds', query[name]);
  }
  check.string('after', after);
  check.count('limit', limit, { max: maxLimit });
  return (run) => wanted.includes(run.status) && run.acceptedAt >= from && run.acceptedAt < to;
}

function listedRun(record: EventRecord, listed: readonly ListedStep[], redactor: Redactor): ListedRun {
  const run = introspectRecord(record, listed, redactor);
  return { ...run, steps: run.steps.slice(-maxSteps), ...(record.isDeadLetter && { isDeadLetter: true as const }) };
}
