import type { Clock } from '../clock.js';
import type { Envelope } from '../delivery.js';
import {
  type AttemptRecord,
  type ErasedPayloads,
  type EventRecord,
  eventOfRun,
  type KeptEventRecord,
  keepAttempt,
  nextRunPlace,
  type RecentEvents,
  type RequestRecords,
  type RunPage,
  type RunPageQuery,
  type RunRecord,
  readRunPlace,
  toRecentEvents,
  toRequestRecords,
} from '../event-record.js';
import { retainedRecent } from '../limits.js';
import { runLogs } from '../stored-keys.js';
import type { DeadLetterError, EventLookup, Overview, OverviewQuery, ScheduleRecord } from '../transport.js';
import type { BrokerStatistics } from './broker-statistics.js';
import type { ConsumerGroup } from './consumer-group.js';
import { type Entry, type EventFilter, matchesFilter } from './entry.js';
import type { Journal } from './journal.js';
import type { RunWaits } from './run-waits.js';
import { type Place, pageOf } from './runs.js';
import type { DeadLetter, DeadLetterLimits, TypeQueue } from './type-queue.js';
import { type EndedEvent, toEndedEvent } from './type-stats.js';

type Matches = (event: Pick<Envelope, 'id' | 'requestId'>) => boolean;

/** The part of a broker that its lookups read. */
export interface LookupHost {
  readonly clock: Clock;
  readonly journal: Journal;
  readonly statistics: BrokerStatistics;
  readonly waits: RunWaits;
  readonly connections: { descriptions(): readonly string[] };
  readonly schedules: { records(): readonly ScheduleRecord[] };
  readonly deadLetterLimits: DeadLetterLimits;
}

/** Finds pending and retained events in the queues of all services. Keeps nothing itself: a lookup reads them all. */
export class Lookup implements EventLookup {
  readonly #groups: ReadonlyMap<string, ConsumerGroup>;
  readonly #host: LookupHost;
  readonly #clock: Clock;

  constructor(groups: ReadonlyMap<string, ConsumerGroup>, host: LookupHost) {
    this.#groups = groups;
    this.#host = host;
    this.#clock = host.clock;
  }

  async find(id: string, { bodies = false }: { readonly bodies?: boolean } = {}): Promise<readonly EventRecord[]> {
    return this.#search({ id }, bodies);
  }

  async request(requestId: string): Promise<RequestRecords> {
    return toRequestRecords(this.#search({ requestId }, false));
  }

  async kept(id: string): Promise<readonly KeptEventRecord[]> {
    const found: KeptEventRecord[] = [];
    for (const { service, queues } of this.#groups.values()) {
      for (const { type: runType, runs } of queues.all()) {
        for (const { envelope, inbox } of runs?.pending() ?? []) {
          for (const { wait } of inbox?.kept ?? []) {
            if (wait.kept?.id !== id || wait.kept.isTaken) continue;
            found.push({ type: wait.kept.type, service, runType, runId: envelope.id });
          }
        }
      }
    }
    return found;
  }

  async overview({ types, runTypes, runLimit }: OverviewQuery): Promise<Overview> {
    const { statistics, connections, schedules, deadLetterLimits } = this.#host;
    return {
      registered: connections.descriptions(),
      counts: statistics.counts(types),
      activity: statistics.activity(types),
      total: statistics.total(),
      retainsDeadLetters: deadLetterLimits.maxDeadLetters > 0,
      runs: runTypes.map((type) => statistics.runs(type, runLimit)),
      schedules: schedules.records(),
    };
  }

  async recent(type: string): Promise<RecentEvents> {
    const records: EventRecord[] = [];
    for (const group of this.#groups.values()) {
      const queue = group.queues.find(type);
      if (queue === undefined) continue;
      const events = new QueueEvents(group.service, queue, this.#clock, false);
      events.addRecentRuns();
      for (const entry of queue.reader.newest(retainedRecent)) events.addPending(entry);
      for (const ended of queue.log.events()) events.addEnded(ended);
      records.push(...events.records());
    }
    return toRecentEvents(records);
  }

  async runs(type: string, service: string, { limit, after }: RunPageQuery): Promise<RunPage> {
    const { part, number, id = '' } = readRunPlace(after);
    const queue = this.#groups.get(service)?.queues.find(type);
    if (queue === undefined) return { events: [] };
    const place = number === undefined ? undefined : { at: Number(number), id };
    const events = new QueueEvents(service, queue, this.#clock, false);
    if (part === 'runs') events.addRunPage(limit, place);
    else events.addDeadPage(limit, place);
    const records = events.records();
    const last = records.length < limit ? undefined : records.at(-1);
    const at = part === 'runs' ? last?.acceptedAt : last?.endedAt;
    return { events: records, ...nextRunPlace(part, last && `${at}:${last.id}`) };
  }

  async deadLetterErrors(type: string, limit: number): Promise<readonly DeadLetterError[]> {
    const found = [...this.#groups.values()].flatMap(({ service, queues }) =>
      [...(queues.find(type)?.deadLetters.all() ?? [])].map(({ entry, at, error }) => ({
        ...{ id: entry.envelope.id, service, requestId: entry.envelope.requestId },
        ...{ at, attempt: entry.attempt, error },
      })),
    );
    return found.sort((a, b) => b.at - a.at).slice(0, limit);
  }

  async erase(requestId: string): Promise<ErasedPayloads> {
    return this.#host.journal.change(() => this.#erase(requestId));
  }

  /** Removes the payloads of a request from what has ended. */
  #erase(requestId: string): ErasedPayloads {
    let [deadLetters, runs, pending] = [0, 0, 0];
    for (const queue of this.#queues()) {
      pending += queue.reader.countOf(requestId);
      const erasedRuns = queue.runs?.erase(requestId) ?? 0;
      for (const entry of queue.runs?.pending() ?? []) this.#host.waits.eraseKept(entry, requestId);
      const ids = [...queue.deadLetters.all()].filter(({ entry }) => entry.envelope.requestId === requestId);
      for (const { entry } of ids) queue.deadLetters.take(entry.envelope.id);
      const ended = [...queue.log.events()].filter((event) => event.requestId === requestId);
      for (const { id } of [...ended, ...ids.map(({ entry }) => entry.envelope)]) {
        for (const log of runLogs(queue.service, id)) this.#host.journal.dropLog(log);
      }
      if (erasedRuns + ids.length > 0) queue.stats.markChanged();
      runs += erasedRuns;
      deadLetters += ids.length;
    }
    return { deadLetters, runs, pending };
  }

  #search(filter: EventFilter, withBodies: boolean): EventRecord[] {
    const matches: Matches = (event) => matchesFilter(filter, event);
    const records: EventRecord[] = [];
    for (const group of this.#groups.values()) {
      for (const queue of group.queues.all()) {
        const events = new QueueEvents(group.service, queue, this.#clock, withBodies);
        events.addRuns(filter, matches);
        for (const entry of this.#pending(group, queue, filter)) events.addPending(entry);
        for (const ended of queue.log.events()) if (matches(ended)) events.addEnded(ended);
        for (const dead of queue.deadLetters.all()) if (matches(dead.entry.envelope)) events.addDead(dead);
        records.push(...events.records());
      }
    }
    return records;
  }

  #pending({ queues: { index } }: ConsumerGroup, queue: TypeQueue, filter: EventFilter): readonly Entry[] {
    if (!('id' in filter && index.isBuilt)) return queue.reader.find(filter);
    const entry = index.find(filter.id);
    return entry?.envelope.type === queue.type ? [entry] : queue.reader.findSpilled(filter);
  }

  *#queues(): Iterable<TypeQueue> {
    for (const group of this.#groups.values()) yield* group.queues.all();
  }
}

/** Records of the events of one queue, each once: the first one that is added holds. */
class QueueEvents {
  readonly #service: string;
  readonly #queue: TypeQueue;
  readonly #clock: Clock;
  readonly #withBodies: boolean;
  readonly #byId = new Map<string, EventRecord>();

  constructor(service: string, queue: TypeQueue, clock: Clock, withBodies: boolean) {
    this.#service = service;
    this.#queue = queue;
    this.#clock = clock;
    this.#withBodies = withBodies;
  }

  records(): readonly EventRecord[] {
    return [...this.#byId.values()];
  }

  addRuns(filter: EventFilter, matches: Matches): void {
    const { runs } = this.#queue;
    if (runs === undefined) return;
    const found = 'id' in filter ? [runs.record(filter.id, this.#service)] : runs.records(this.#service, matches);
    for (const run of found) if (run !== undefined) this.#addRun(run);
  }

  addRecentRuns(): void {
    for (const run of this.#queue.runs?.recent(this.#service) ?? []) this.#addRun(run);
  }

  addRunPage(limit: number, after: Place | undefined): void {
    for (const run of this.#queue.runs?.page(limit, after, this.#service) ?? []) this.#addRun(run);
  }

  /** Adds dead letters whose runs are no longer retained. */
  addDeadPage(limit: number, after: Place | undefined): void {
    const { deadLetters, runs } = this.#queue;
    const dead = [...deadLetters.all()].map((letter) => ({ letter, at: letter.at, id: letter.entry.envelope.id }));
    const alone = dead.filter(({ id }) => runs?.has(id) !== true);
    for (const { letter } of pageOf(alone, limit, after)) this.addDead(letter);
  }

  addPending(entry: Entry): void {
    const { envelope, acceptedAt, attempt, attempts, startedAt, lease, dueAt, isSuspended } = entry;
    if (this.#byId.has(envelope.id)) return;
    const status =
      lease !== undefined ? 'active' : isSuspended ? 'suspended' : dueAt !== undefined ? 'delayed' : 'waiting';
    this.#add(envelope, {
      status,
      acceptedAt,
      dueAt: dueAt === undefined ? undefined : this.#clock.now() + Math.max(0, dueAt - this.#clock.monotonic()),
      endedAt: undefined,
      attempt,
      attempts: lease === undefined ? attempts : keepAttempt(attempts, { attempt, startedAt }),
      error: undefined,
      step: undefined,
      isDeadLetter: false,
      body: this.#withBodies ? envelope.body : undefined,
    });
  }

  addEnded(ended: EndedEvent, body?: string): void {
    const { id, status, acceptedAt, startedAt, endedAt, attempt, earlier, error, step } = ended;
    if (this.#byId.has(id)) return;
    const last: AttemptRecord[] =
      startedAt === undefined || status === 'cancelled'
        ? []
        : [{ attempt, startedAt, endedAt, ...(error !== undefined && { error }) }];
    this.#add(ended, {
      status,
      acceptedAt,
      dueAt: undefined,
      endedAt,
      attempt,
      attempts: last.reduce(keepAttempt, earlier),
      error,
      step,
      isDeadLetter: this.#isDeadLetter(id),
      body: body ?? (this.#withBodies ? this.#queue.deadLetters.find(id)?.envelope.body : undefined),
    });
  }

  addDead({ entry, at, error, step }: DeadLetter): void {
    const outcome = { status: 'failed' as const, durationMs: 0, error, step, followUps: [] };
    this.addEnded(toEndedEvent(entry, outcome, at), this.#withBodies ? entry.envelope.body : undefined);
  }

  #add(
    { id, requestId, causeId }: Pick<Envelope, 'id' | 'requestId' | 'causeId'>,
    rest: Omit<EventRecord, 'id' | 'type' | 'service' | 'requestId' | 'causeId' | 'run'>,
  ): void {
    const { type } = this.#queue;
    this.#byId.set(id, { id, type, service: this.#service, requestId, causeId, run: undefined, ...rest });
  }

  #addRun(run: RunRecord): void {
    const record = eventOfRun(this.#queue.type, run, this.#isDeadLetter(run.id));
    this.#byId.set(run.id, this.#withBodies ? { ...record, body: run.envelope.body } : record);
  }

  #isDeadLetter(id: string): boolean {
    return this.#queue.deadLetters.find(id) !== undefined;
  }
}
