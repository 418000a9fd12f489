import { OptionChecker } from '../../options.js';
import { workflowOf } from '../../transports/delivery.js';
import { triggeredId } from '../../transports/derived-ids.js';
import type { EventRecord, EventStatus } from '../../transports/event-record.js';
import type { EventLookup } from '../../transports/transport.js';
import { isTag, type Searched, type TaggedPlace, type TaggedPlaces, type TagIndex } from '../events/tags.js';
import { groupOfError } from './error-mask.js';
import type { EventSearch, EventSummary } from './event-search.js';

/** Query of `hub.search`: a tag or a key, and what restricts it. */
export interface SearchQuery {
  /** Tag of the events and runs, exactly. */
  tag?: string;
  /** Key of the events and runs of types that have `tags`, exactly. */
  key?: string;
  /** Event type, or name of a workflow. @default all */
  type?: string;
  /** Status in a service. @default all */
  status?: EventStatus;
  /** Id of an error group: events and runs of which an attempt or a step failed with its error. @default all */
  group?: string;
  /** Accepted at this time or later, in epoch milliseconds. */
  from?: number;
  /** Accepted at this time or earlier, in epoch milliseconds. */
  to?: number;
  /** `after` of the page before. */
  after?: string;
  /** Maximum number of events and runs, 1 to 200; the shares of one event in several services stay together. @default 50 */
  limit?: number;
}

/** Result of `hub.search`. */
export interface SearchResult {
  /** Newest first by acceptance. A run that a trigger started follows its event. */
  readonly events: readonly EventSummary[];
  /** Pass it as `after` for the next page; absent if there is none. */
  readonly after?: string;
  /**
   * Epoch milliseconds: events that were accepted before may be missing, because the index of a type has its newest 20,000
   * events alone. Absent if none is missing.
   */
  readonly since?: number;
}

/** Parts that a search uses. */
export interface SearchParts {
  readonly index: TagIndex;
  /** Types with tags. */
  readonly types: readonly string[];
  readonly lookup: Pick<EventLookup, 'find' | 'request'>;
  readonly events: Pick<EventSearch, 'summarize'>;
}

const defaultLimit = 50;
const maxLimit = 200;
/** Number of indexed events that a call looks up at most: few of them may match, or be retained. */
const maxLookedUp = 1_000;
/** Number of indexed events that are looked up at once. */
const chunkSize = 25;

const names: readonly (keyof SearchQuery)[] = [
  ...(['tag', 'key', 'type', 'status', 'group', 'from', 'to', 'after', 'limit'] as const),
];

/** All values of `status`. */
export const eventStatuses: readonly EventStatus[] = [
  ...(['waiting', 'delayed', 'active', 'suspended', 'completed', 'filtered', 'failed', 'cancelled'] as const),
];

/** Checks a query. Returns the tag or key. @throws {InvalidOptionError} */
function checkSearch(query: SearchQuery): Searched {
  const check = new OptionChecker(query, names, 'search');
  const { tag, key, type, status, group, from, to, after, limit } = query;
  check.that((tag === undefined) !== (key === undefined), 'tag', 'set, or key, and not both', tag);
  check.that(tag === undefined || isTag(tag), 'tag', 'a string of 1 to 64 characters', tag);
  check.name('key', key);
  check.name('type', type);
  const isStatus = status === undefined || eventStatuses.includes(status);
  check.that(isStatus, 'status', `one of ${eventStatuses.join(', ')}`, status);
  check.name('group', group);
  const isTime = (time: unknown): boolean => time === undefined || Number.isFinite(time);
  check.that(isTime(from), 'from', 'epoch milliseconds', from);
  check.that(isTime(to), 'to', 'epoch milliseconds', to);
  check.that(after === undefined || cursorPattern.test(after), 'after', '`after` of a result', after);
  check.count('limit', limit, { max: maxLimit });
  return tag === undefined ? { key: key ?? '' } : { tag };
}

/** Finds the retained events and runs with a tag or a key. @throws {InvalidOptionError} */
export async function searchEvents(query: SearchQuery, parts: SearchParts): Promise<SearchResult> {
  const searched = checkSearch(query);
  const { limit = defaultLimit, after } = query;
  const { places, since, erased } = await parts.index.find(searched, parts.types);
  const reader = new RequestReader(parts.lookup, erased);
  const events: EventSummary[] = [];
  let at = after === undefined ? 0 : places.findIndex((place) => follows(place, after));
  if (at === -1) at = places.length;
  const end = Math.min(places.length, at + maxLookedUp);
  while (at < end && events.length < limit) {
    const chunk = places.slice(at, Math.min(end, at + chunkSize));
    const found = await Promise.all(chunk.map(async (place) => matching(await reader.records(place), query, parts)));
    for (const some of found) {
      if (events.length >= limit) break;
      events.push(...some);
      at += 1;
    }
  }
  const last = places[at - 1];
  const hasMore = at < places.length && last !== undefined;
  return { events, ...(hasMore && { after: `${last.at}:${last.id}` }), ...(since !== undefined && { since }) };
}

const cursorPattern = /^\d{1,16}:./s;

/** Returns `true` for a place behind the one that a cursor names, in the order of the index. */
function follows({ at, id }: TaggedPlace, cursor: string): boolean {
  const [time = ''] = cursor.split(':', 1);
  return at < Number(time) || (at === Number(time) && id > cursor.slice(time.length + 1));
}

/** Reads each request of a search once. */
class RequestReader {
  readonly #lookup: SearchParts['lookup'];
  readonly #erased: TaggedPlaces['erased'];
  readonly #requests = new Map<string, ReturnType<EventLookup['request']>>();

  constructor(lookup: SearchParts['lookup'], erased: TaggedPlaces['erased']) {
    this.#lookup = lookup;
    this.#erased = erased;
  }

  /** Returns the records of an event, and those of the runs that its triggers started. */
  async records(place: TaggedPlace): Promise<readonly EventRecord[]> {
    const { id, requestId } = place;
    const { events } = await this.#request(requestId);
    const own = events.filter((event) => event.id === id);
    if (own.length > 0) return [...own, ...triggeredBy(place, events)];
    // The lookup of a request returns its first 1,000 events, and a debounced event may have joined another request.
    const found = (await this.#lookup.find(id)).filter((event) => !this.#isErased(event, place));
    const joined = found.find((event) => event.requestId !== requestId);
    const others = joined === undefined ? events : (await this.#request(joined.requestId)).events;
    return [...found, ...triggeredBy(place, others)];
  }

  #request(requestId: string): ReturnType<EventLookup['request']> {
    const all = this.#requests.get(requestId) ?? this.#lookup.request(requestId);
    this.#requests.set(requestId, all);
    return all;
  }

  /** The request that the event joined was erased. */
  #isErased({ requestId }: EventRecord, place: TaggedPlace): boolean {
    return requestId !== place.requestId && (this.#erased.get(requestId) ?? Number.NEGATIVE_INFINITY) >= place.at;
  }
}

/** Returns those of a request's events that are runs which an event triggered. */
function triggeredBy({ id, type }: TaggedPlace, events: readonly EventRecord[]): readonly EventRecord[] {
  return events.filter(
    (event) => event.causeId === id && event.id === triggeredId(event.service, id, event.type, type),
  );
}

function matching(
  records: readonly EventRecord[],
  query: SearchQuery,
  { events }: Pick<SearchParts, 'events'>,
): readonly EventSummary[] {
  const { type, group, status, from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = query;
  return records.flatMap((record) => {
    if (type !== undefined && (workflowOf(record.type) ?? record.type) !== type) return [];
    if (record.acceptedAt < from || record.acceptedAt > to) return [];
    const { summary, errors } = events.summarize(record);
    if (status !== undefined && summary.status !== status) return [];
    const isOfGroup = group === undefined || errors.some((error) => groupOfError(record.type, error).id === group);
    return isOfGroup ? summary : [];
  });
}
