import type { Redactor } from '../../redaction.js';
import { workflowType } from '../../transports/delivery.js';
import type { RunRecord } from '../../transports/event-record.js';
import { sumCounts, type TypeActivity } from '../../transports/statistics/stats.js';
import type {
  Overview,
  RunStore,
  ScheduleRecord,
  StoredSchedule,
  TransportManager,
  TypeCounts,
} from '../../transports/transport.js';
import { version } from '../../version.js';
import { type AgentDescription, type AgentIntrospection, durationsOf } from '../events/reported-agents.js';
import { type Pause, PausedSubjects, type PauseKind, type PauseSummary } from '../pauses.js';
import { pathSeparator } from '../runs/run-entry.js';
import { introspectRun } from '../runs/run-introspection.js';
import {
  introspectSchedule,
  introspectStored,
  type ScheduleDescription,
  type ScheduleIntrospection,
  UpcomingDueTimes,
} from '../schedules/schedule-introspection.js';
import {
  type Cluster,
  DescriptionMerger,
  type EventDescription,
  type HubDescription,
  isRunning,
  parseDescription,
  type Served,
  type WorkflowDescription,
} from './hub-description.js';
import type {
  EventIntrospection,
  HubIntrospection,
  RangeIntrospection,
  WorkflowIntrospection,
} from './introspection.js';
import type { Invocations } from './invocations.js';
import type { ProcessRoster } from './process-roster.js';
import type { Releases } from './releases.js';

const runsShown = 10;

// Types are registered at starts. Descriptions that name others at every read come from no hub.
const maxReads = 3;

/** Number of steps per run that an introspection contains, the latest ones. `hub.getRun` returns all. */
const shownSteps = 100;

/** Maximum number of schedules set at run time in an introspection. `hub.schedules.list` returns all. */
const shownStoredSchedules = 50;

/** Parts of a hub that an introspection reads. */
export interface IntrospectorParts {
  readonly releases: Releases;
  readonly roster: ProcessRoster;
  readonly invocations: Invocations;
}

/** Reads the registrations and counts of all hubs of a transport. */
export class Introspector {
  readonly #transport: TransportManager;
  readonly #redactor: Redactor;
  readonly #releases: Releases;
  readonly #roster: ProcessRoster;
  readonly #invocations: Invocations;
  readonly #merger = new DescriptionMerger();
  readonly #events: EventIntrospections;
  /** Running hubs at the last read. Lets the next read request all counts in one round trip. */
  #running: readonly HubDescription[] = [];
  /** Parsed descriptions by their text. Processes of one service send the same text, and send it repeatedly. */
  #parsed: ReadonlyMap<string, HubDescription> = new Map();
  readonly #upcoming = new UpcomingDueTimes();
  #paused = new PausedSubjects([]);

  constructor(transport: TransportManager, redactor: Redactor, { releases, roster, invocations }: IntrospectorParts) {
    this.#transport = transport;
    this.#releases = releases;
    this.#roster = roster;
    this.#invocations = invocations;
    this.#redactor = redactor;
    this.#events = new EventIntrospections(redactor);
  }

  /** Reads all registrations with their counts. @param pausing read of the pauses, which shares the round trip */
  async read(
    own: HubDescription,
    startedAt: number | null,
    pausing: Promise<readonly Pause[]>,
  ): Promise<HubIntrospection> {
    const overviewing = this.#overview(own);
    const [pauses, { cluster, counted, runs, overview }, stored, parents, releases, lost] = await Promise.all([
      pausing,
      overviewing,
      this.#transport.schedules.page('', shownStoredSchedules),
      this.#invocations.parents(),
      this.#releases.read(overviewing.then(() => this.#running.filter(isRunning))),
      this.#roster.recentlyLost(),
    ]);
    if (this.#paused.all !== pauses) this.#paused = new PausedSubjects(pauses);
    const paused = this.#paused;
    const { service, name, clock } = this.#transport;
    const { schedules, total, retainsDeadLetters } = overview;
    const events = this.#events.read(cluster.events, counted, paused);
    const workflows = cluster.workflows.flatMap((workflow, index) => {
      const type = workflowType(workflow.description.name);
      const found = counted(type, cluster.events.length + index);
      if (found === undefined) return [];
      const shown = introspectWorkflow(workflow, found, runs.get(type) ?? [], this.#redactor, paused);
      const invokedBy = parents.get(shown.name);
      return [invokedBy === undefined ? shown : { ...shown, invokedBy }];
    });
    const pending = pendingAgentRuns(events, workflows);
    const approvals = await readWaitingApprovals(this.#transport.runs, events, workflows, this.#redactor);
    return {
      hub: {
        service,
        transport: name,
        version,
        startedAt,
        now: clock.now(),
        processes: this.#running.filter(isRunning).length,
        retainsDeadLetters,
      },
      totals: { metrics: sumCounts(events.map(({ metrics }) => metrics)), ...total },
      events,
      workflows,
      agents: cluster.agents.map((agent) => introspectAgent(agent, approvals, pending)),
      schedules: [
        ...introspectSchedules(own, this.#running, schedules, clock.now(), this.#upcoming, paused),
        ...this.#stored(stored.schedules),
      ],
      ...(stored.total > 0 && { storedSchedules: stored.total }),
      pauses,
      releases,
      lost,
    };
  }

  /** Describes schedules that were set at run time, without those that cannot be read. */
  async stored(
    schedules: readonly StoredSchedule[],
    pausing: Promise<readonly Pause[]>,
  ): Promise<readonly ScheduleIntrospection[]> {
    const [pauses] = await Promise.all([pausing, this.#registered()]);
    if (this.#paused.all !== pauses) this.#paused = new PausedSubjects(pauses);
    return this.#stored(schedules);
  }

  #stored(schedules: readonly StoredSchedule[]): readonly ScheduleIntrospection[] {
    const processes = this.#running.filter((hub) => isRunning(hub) && claimsStored(hub)).length;
    return schedules.flatMap((schedule) => {
      const found = introspectStored(schedule, processes, this.#transport.clock.now(), this.#upcoming);
      if (found === undefined) return [];
      const pause = this.#paused.find({ schedule: found.name }, [found.service]);
      return [pause === undefined ? found : { ...found, paused: pause }];
    });
  }

  /** Reads the part of `read` that a service has: what it handles or has events of, with its own counts. */
  async readService(
    own: HubDescription,
    service: string,
    startedAt: number | null,
    pausing: Promise<readonly Pause[]>,
  ): Promise<HubIntrospection> {
    const all = await this.read(own, startedAt, pausing);
    const running = this.#running.filter(isRunning);
    const handled = new Set(
      [own, ...running]
        .filter((hub) => hub.service === service)
        .flatMap((hub) => [
          ...hub.events.map(({ type }) => type),
          ...hub.workflows.map(({ name }) => workflowType(name)),
        ]),
    );
    const types = [...all.events.map(({ type }) => type), ...all.workflows.map(({ name }) => workflowType(name))];
    const counts = new Map((await this.#transport.counts.get(types)).map((count, index) => [types[index], count]));
    const ofService = <T extends Pick<EventIntrospection, 'metrics' | 'services'>>(
      type: string,
      one: T,
    ): readonly T[] => {
      const share = counts.get(type)?.services.find((each) => each.service === service);
      if (share === undefined && !handled.has(type)) return [];
      const metrics = share?.counts ?? sumCounts([]);
      const services = one.services?.filter((each) => each.service === service);
      return [{ ...one, metrics, ...(services !== undefined && { services }) }];
    };
    return {
      ...all,
      events: all.events.flatMap((event) => ofService(event.type, event)),
      workflows: all.workflows.flatMap((workflow) => ofService(workflowType(workflow.name), workflow)),
      schedules: all.schedules.filter((schedule) => schedule.service === service),
      lost: all.lost.filter((process) => process.service === service),
    };
  }

  /** Returns the names of a kind that this or another hub registered. */
  async targets(own: HubDescription, kind: PauseKind): Promise<ReadonlySet<string>> {
    const hubs = [own, ...(await this.#registered())];
    return new Set(
      hubs.flatMap(({ service, events, workflows, schedules }) => {
        if (kind === 'service') return service;
        if (kind === 'type') return events.map(({ type }) => type);
        return (kind === 'workflow' ? workflows : schedules).map(({ name }) => name);
      }),
    );
  }

  /** Returns the description of an event type; `undefined` if neither this nor a running hub registered it. */
  async describe(own: HubDescription, type: string): Promise<EventDescription | undefined> {
    const { events } = await this.cluster(own);
    return events.find(({ description }) => description.type === type)?.description;
  }

  /** Returns the listed steps of a workflow of this hub, or of one that ran at the last read. */
  stepsOf(own: HubDescription, workflow: string): WorkflowDescription['steps'] {
    const found = [own, ...this.#running].flatMap(({ workflows }) => workflows).find(({ name }) => name === workflow);
    return found?.steps ?? [];
  }

  /** Returns the counts of all event types between two times in epoch milliseconds. */
  async range(own: HubDescription, from: number, to: number): Promise<RangeIntrospection> {
    const { events } = await this.cluster(own);
    const types = events.map(({ description }) => description.type);
    const { counts, ...range } = await this.#transport.counts.range(types, from, to);
    return { ...range, events: counts.map((typeCounts, index) => ({ type: types[index] ?? '', counts: typeCounts })) };
  }

  /** Returns the registrations of all hubs. */
  async cluster(own: HubDescription): Promise<Cluster> {
    return this.#merger.merge(own, await this.#registered());
  }

  /** Returns the descriptions of all hubs, those of services without a process included. */
  async hubs(): Promise<readonly HubDescription[]> {
    return this.#registered();
  }

  /** Returns the names that running hubs registered. */
  async names(): Promise<RegisteredNames> {
    const hubs = await this.#registered();
    return {
      events: new Set(hubs.flatMap(({ events }) => events.map(({ type }) => type))),
      workflows: new Set(hubs.flatMap(({ workflows }) => workflows.map(({ name }) => name))),
    };
  }

  /** Takes one round trip, and another one if a type was registered since the last read. */
  async #overview(own: HubDescription): Promise<ClusterOverview> {
    for (let read = 1; ; read += 1) {
      const known = this.#running;
      const cluster = this.#merger.merge(own, known);
      const { types, runTypes } = cluster;
      const overview = await this.#transport.lookup.overview({ types, runTypes, runLimit: runsShown });
      const { registered, runs } = overview;
      const running = this.#parse(registered);
      const isSame = running.length === known.length && running.every((hub, index) => hub === known[index]);
      const found = isSame ? cluster : this.#merger.merge(own, running);
      const counted = countsByType(types, overview, found.types);
      const isComplete =
        found.types === types || found.types.every((type, index) => counted(type, index) !== undefined);
      if (!isComplete && read < maxReads) continue;
      const runsByType = new Map(runs.map((latest, index) => [runTypes[index] ?? '', latest]));
      return { cluster: found, counted, runs: runsByType, overview };
    }
  }

  async #registered(): Promise<readonly HubDescription[]> {
    return this.#parse(await this.#transport.fleet.registered());
  }

  #parse(registered: readonly string[]): readonly HubDescription[] {
    const parsed = new Map(registered.map((text) => [text, this.#parsed.get(text) ?? parseDescription(text)]));
    this.#parsed = parsed;
    this.#running = registered.flatMap((text) => parsed.get(text) ?? []);
    return this.#running;
  }
}

/** Names of events and workflows. */
export interface RegisteredNames {
  readonly events: ReadonlySet<string>;
  readonly workflows: ReadonlySet<string>;
}

/** Returns the counts of a type, which is at `index` of the types that were merged; `undefined` if they were not read. */
type FindCounts = (type: string, index: number) => CountedType | undefined;

interface ClusterOverview {
  readonly cluster: Cluster;
  readonly counted: FindCounts;
  readonly runs: ReadonlyMap<string, readonly RunRecord[]>;
  readonly overview: Pick<Overview, 'schedules' | 'total' | 'retainsDeadLetters'>;
}

function countsByType(
  types: readonly string[],
  { counts, activity }: Pick<Overview, 'counts' | 'activity'>,
  wanted: readonly string[],
): FindCounts {
  const at = (index: number | undefined): CountedType | undefined => {
    const typeCounts = counts[index ?? -1];
    const typeActivity = activity[index ?? -1];
    return typeCounts === undefined || typeActivity === undefined ? undefined : { typeCounts, typeActivity };
  };
  // Most reads are of the same types as the one before.
  if (types === wanted) return (_type, index) => at(index);
  const places = new Map(types.map((type, index) => [type, index]));
  return (type) => at(places.get(type));
}

function introspectWorkflow(
  { description, processes, processCount }: Served<WorkflowDescription>,
  { typeCounts: { total, services }, typeActivity: { recent, lastFailure } }: CountedType,
  runs: readonly RunRecord[],
  redactor: Redactor,
  paused: PausedSubjects,
): WorkflowIntrospection {
  const listed = listServices(services, processes);
  const pause = paused.find({ workflow: description.name }, servicesOf(services, processes));
  return {
    ...description,
    processes: processCount,
    metrics: total,
    ...(pause !== undefined && { paused: pause }),
    ...(listed !== undefined && { services: listed }),
    recent,
    ...(lastFailure !== undefined && { lastFailure: redactor.recorded(lastFailure) }),
    runs: runs.map((run) => {
      const { steps, ...rest } = introspectRun(description.steps, run, redactor);
      return { ...rest, steps: steps.slice(-shownSteps) };
    }),
  };
}

function introspectAgent(
  description: AgentDescription,
  approvals: ReadonlyMap<string, number>,
  pending: ReadonlyMap<string, PendingAgentRuns>,
): AgentIntrospection {
  const { durations, longestMs, ...agent } = description;
  return {
    ...agent,
    ...(pending.get(agent.name) ?? { active: 0, suspended: 0 }),
    ...(durations !== undefined && { durationMs: durationsOf(description).durations() }),
    approvalsWaiting: approvals.get(agent.name) ?? 0,
  };
}

/** Returns the schedules of the requesting hub, which may not run, and of all others. */
function introspectSchedules(
  own: HubDescription,
  running: readonly HubDescription[],
  records: readonly ScheduleRecord[],
  now: number,
  upcoming: UpcomingDueTimes,
  paused: PausedSubjects,
): readonly ScheduleIntrospection[] {
  const all = [own, ...running].flatMap(({ service, schedules }) => schedules.map(({ name }) => ({ service, name })));
  const names = new Map(all.map((schedule) => [JSON.stringify([schedule.service, schedule.name]), schedule]));
  const ordered = [...names.entries()].sort(([a], [b]) => (a < b ? -1 : 1));
  return ordered.flatMap(([, { service, name }]) => {
    const having = (hubs: readonly HubDescription[]): readonly ScheduleDescription[] =>
      hubs.filter((hub) => hub.service === service).flatMap((hub) => hub.schedules.filter((one) => one.name === name));
    const description = having([own, ...running])[0];
    const record = records.find((one) => one.service === service && one.name === name);
    if (description === undefined) return [];
    const processes = having(running.filter(isRunning)).length;
    const introspection = introspectSchedule(description, service, processes, record, now, upcoming);
    const pause = paused.find({ schedule: name }, [service]);
    return [pause === undefined ? introspection : { ...introspection, paused: pause }];
  });
}

/** Returns `true` if the hub emits the events of schedules that were set at run time. */
function claimsStored({ events, workflows, schedules }: HubDescription): boolean {
  return workflows.length + schedules.length > 0 || events.some(({ kind }) => kind !== 'declared');
}

/** Counts and activity of an event type or a workflow. */
interface CountedType {
  readonly typeCounts: TypeCounts;
  readonly typeActivity: TypeActivity;
}

interface Known extends CountedType {
  readonly served: Served<EventDescription>;
  readonly event: EventIntrospection;
}

/**
 * Introspects event types. The introspection of a type is the same object until its registrations, counts or activity
 * are other objects: transports return the same ones for a type that is idle.
 */
class EventIntrospections {
  readonly #redactor: Redactor;
  #known: readonly Known[] = [];

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  /** @param countedOf returns the counts of a type; `undefined` omits the type */
  read(
    all: readonly Served<EventDescription>[],
    countedOf: (type: string, index: number) => CountedType | undefined,
    paused: PausedSubjects,
  ): readonly EventIntrospection[] {
    const known: Known[] = [];
    const events: EventIntrospection[] = [];
    for (const [index, served] of all.entries()) {
      const counted = countedOf(served.description.type, index);
      if (counted === undefined) continue;
      const last = this.#known[known.length];
      const services = servicesOf(counted.typeCounts.services, served.processes);
      const pause = paused.find({ type: served.description.type }, services);
      const found =
        last !== undefined &&
        last.event.paused === pause &&
        last.served === served &&
        last.typeCounts === counted.typeCounts &&
        last.typeActivity === counted.typeActivity
          ? last
          : { served, ...counted, event: introspectEvent(served, counted, this.#redactor, pause) };
      known.push(found);
      events.push(found.event);
    }
    this.#known = known;
    return events;
  }
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

function introspectEvent(
  { description, processes, processCount }: Served<EventDescription>,
  { typeCounts: { total, services }, typeActivity: { recent, lastFailure } }: CountedType,
  redactor: Redactor,
  paused: PauseSummary | undefined,
): EventIntrospection {
  const { type, kind } = description;
  // V8 adds properties to a copy of a description many times slower than it copies the description into an object.
  const event: Writable<EventIntrospection> = Object.assign(
    { type, kind, processes: processCount, metrics: total, recent },
    description,
  );
  // The description may be of another version, with any properties.
  event.processes = processCount;
  event.metrics = total;
  event.recent = recent;
  if (lastFailure !== undefined) event.lastFailure = redactor.recorded(lastFailure);
  const listed = listServices(services, processes);
  if (listed !== undefined) event.services = listed;
  if (paused !== undefined) event.paused = paused;
  return event;
}

/** Returns the services that handle a type, or have events of it. */
function servicesOf(services: TypeCounts['services'], processes: ReadonlyMap<string, number>): readonly string[] {
  const waiting = services.flatMap(({ service, counts: { pending } }) => (pending > 0 ? service : []));
  return [...processes.keys(), ...waiting];
}

/** Returns counts and processes per service; `undefined` if there is but one service, and a process for what waits. */
function listServices(
  services: TypeCounts['services'],
  processes: ReadonlyMap<string, number>,
): EventIntrospection['services'] {
  // The name of a service without a process tells the operator which service the events wait for.
  const isListed =
    services.length > 1 ||
    services.some(({ service, counts: { pending } }) => pending > 0 && (processes.get(service) ?? 0) === 0);
  if (!isListed) return undefined;
  return services.map(({ service, counts }) => ({ service, processes: processes.get(service) ?? 0, metrics: counts }));
}

/** Runs of an agent that have not ended. */
interface PendingAgentRuns {
  readonly active: number;
  readonly suspended: number;
}

/**
 * Returns the runs that have not ended per agent: of the events that it handles, and of workflows whose steps are this
 * agent alone. The counts of other workflows do not tell which of their steps runs.
 */
function pendingAgentRuns(
  events: readonly Pick<EventIntrospection, 'metrics' | 'agent'>[],
  workflows: readonly Pick<WorkflowIntrospection, 'metrics' | 'steps'>[],
): ReadonlyMap<string, PendingAgentRuns> {
  const runs = new Map<string, PendingAgentRuns>();
  const add = (agent: string, { active, suspended }: PendingAgentRuns): void => {
    const known = runs.get(agent) ?? { active: 0, suspended: 0 };
    runs.set(agent, { active: known.active + active, suspended: known.suspended + suspended });
  };
  for (const { agent, metrics } of events) if (agent !== undefined) add(agent.name, metrics);
  for (const { steps, metrics } of workflows) {
    const agents = new Set(steps.map(({ kind, agent }) => (kind === 'agent' ? agent : undefined)));
    const [only] = agents;
    if (agents.size === 1 && only !== undefined) add(only, metrics);
  }
  return runs;
}

/** Maximum number of runs per workflow that are read to find the agents that wait in them. */
const maxReadRuns = 1_000;

type CountedEvent = Pick<EventIntrospection, 'metrics' | 'agent'>;
type CountedWorkflow = Pick<WorkflowIntrospection, 'name' | 'metrics' | 'steps'>;

/**
 * Returns the number of open approvals per agent: of the events that it handles, and of its steps in workflows. Reads
 * the waiting runs of a workflow only if several agents may wait in them.
 */
async function readWaitingApprovals(
  agentRuns: Pick<RunStore, 'waiting'>,
  events: readonly CountedEvent[],
  workflows: readonly CountedWorkflow[],
  redactor: Redactor,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  const add = (agent: string, count: number): void => {
    counts.set(agent, (counts.get(agent) ?? 0) + count);
  };
  for (const { agent, metrics } of events) if (agent !== undefined) add(agent.name, metrics.approvals ?? 0);
  const shared: CountedWorkflow[] = [];
  for (const workflow of workflows.filter(({ metrics: { approvals = 0 } }) => approvals > 0)) {
    const agents = new Set(workflow.steps.flatMap(({ agent }) => agent ?? []));
    const [only] = agents;
    const isListed = workflow.steps.length > 0 && workflow.steps.every(({ kind }) => kind === 'agent');
    if (isListed && agents.size === 1 && only !== undefined) add(only, workflow.metrics.approvals ?? 0);
    else shared.push(workflow);
  }
  if (shared.length === 0) return counts;
  const limit = Math.min(maxReadRuns, Math.max(...shared.map(({ metrics }) => metrics.approvals ?? 0)));
  const runs = await agentRuns.waiting(
    shared.map(({ name }) => workflowType(name)),
    limit,
  );
  for (const [index, { steps }] of shared.entries()) {
    const agentOf = new Map(steps.flatMap(({ name, agent }) => (agent === undefined ? [] : [[name, agent]])));
    for (const path of (runs[index] ?? []).flatMap((run) => openApprovals(run, redactor))) {
      const [first = ''] = path.split(pathSeparator);
      add(agentOf.get(first) ?? agentOfPath(first), 1);
    }
  }
  return counts;
}

/** Returns the agent whose steps have a path: in the function of a workflow, its escaped name with an ordinal. */
function agentOfPath(first: string): string {
  return first.replace(/#\d+$/, '').replaceAll('%2F', '/');
}

/** Returns the names of the steps of a run that wait for an approval. */
function openApprovals(run: RunRecord, redactor: Redactor): string[] {
  const { steps } = introspectRun([], run, redactor);
  return steps.filter(({ kind, waitsFor }) => kind === 'approval' && waitsFor !== undefined).map(({ name }) => name);
}
