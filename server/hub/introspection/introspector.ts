import type { Redactor } from '../../redaction/redactor.js';
import type { ScheduleRecord } from '../../transports/schedules.js';
import { DurationSketch } from '../../transports/statistics/duration-sketch.js';
import { sumCounts } from '../../transports/statistics/sum-counts.js';
import type { Overview, RunRecord, TransportManager } from '../../transports/transport.js';
import { workflowType } from '../../transports/workflow-type.js';
import { version } from '../../version.js';
import type { AgentDescription, AgentIntrospection } from '../events/agent-support/agent-introspection.js';
import { introspectRun } from '../runs/run-introspection.js';
import {
  introspectSchedule,
  type ScheduleDescription,
  type ScheduleIntrospection,
} from '../schedules/schedule-introspection.js';
import { UpcomingDueTimes } from '../schedules/upcoming-due-times.js';
import {
  type EventDescription,
  type HubDescription,
  isRunning,
  parseDescription,
  type WorkflowDescription,
} from './descriptions/hub-description.js';
import { type Cluster, DescriptionMerger, type Served } from './descriptions/merge-descriptions.js';
import { type CountedType, EventIntrospections, listServices } from './event-introspections.js';
import type { HubIntrospection, RangeIntrospection, WorkflowIntrospection } from './introspection.js';
import { type PendingAgentRuns, pendingAgentRuns } from './pending-agent-runs.js';
import { readWaitingApprovals } from './waiting-approvals.js';

const runsShown = 10;

// Types are registered at starts. Descriptions that name others at every read come from no hub.
const maxReads = 3;

/** Number of steps per run that an introspection contains, the latest ones. `hub.run` returns all. */
const shownSteps = 100;

/** Reads the registrations and counts of all hubs of a transport. */
export class Introspector {
  readonly #transport: TransportManager;
  readonly #redactor: Redactor;
  readonly #merger = new DescriptionMerger();
  readonly #events: EventIntrospections;
  /** Running hubs at the last read. Lets the next read request all counts in one round trip. */
  #running: readonly HubDescription[] = [];
  /** Parsed descriptions by their text. Processes of one service send the same text, and send it repeatedly. */
  #parsed: ReadonlyMap<string, HubDescription> = new Map();
  readonly #upcoming = new UpcomingDueTimes();

  constructor(transport: TransportManager, redactor: Redactor) {
    this.#transport = transport;
    this.#redactor = redactor;
    this.#events = new EventIntrospections(redactor);
  }

  /** Reads all registrations with their counts. */
  async read(own: HubDescription, startedAt: number | null): Promise<HubIntrospection> {
    const { cluster, counted, runs, overview } = await this.#overview(own);
    const { service, name, clock } = this.#transport;
    const { schedules, total, keepsDeadLetters } = overview;
    const events = this.#events.read(cluster.events, counted);
    const workflows = cluster.workflows.flatMap((workflow, index) => {
      const type = workflowType(workflow.description.name);
      const found = counted(type, cluster.events.length + index);
      return found === undefined ? [] : [introspectWorkflow(workflow, found, runs.get(type) ?? [], this.#redactor)];
    });
    const pending = pendingAgentRuns(events, workflows);
    const approvals = await readWaitingApprovals(this.#transport, events, workflows, this.#redactor);
    return {
      hub: {
        service,
        transport: name,
        version,
        startedAt,
        now: clock.now(),
        processes: this.#running.filter(isRunning).length,
        keepsDeadLetters,
      },
      totals: { metrics: sumCounts(events.map(({ metrics }) => metrics)), ...total },
      events,
      workflows,
      agents: cluster.agents.map((agent) => introspectAgent(agent, approvals, pending)),
      schedules: introspectSchedules(own, this.#running, schedules, clock.now(), this.#upcoming),
    };
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
    const { counts, ...range } = await this.#transport.range(types, from, to);
    return { ...range, events: counts.map((typeCounts, index) => ({ type: types[index] ?? '', counts: typeCounts })) };
  }

  /** Returns the registrations of all hubs. */
  async cluster(own: HubDescription): Promise<Cluster> {
    return this.#merger.merge(own, await this.#registered());
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
      const overview = await this.#transport.overview({ types, runTypes, runLimit: runsShown });
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
    return this.#parse(await this.#transport.registered());
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
  readonly overview: Pick<Overview, 'schedules' | 'total' | 'keepsDeadLetters'>;
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
): WorkflowIntrospection {
  const listed = listServices(services, processes);
  return {
    ...description,
    processes: processCount,
    metrics: total,
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
  { durations, ...agent }: AgentDescription,
  approvals: ReadonlyMap<string, number>,
  pending: ReadonlyMap<string, PendingAgentRuns>,
): AgentIntrospection {
  return {
    ...agent,
    ...(pending.get(agent.name) ?? { active: 0, suspended: 0 }),
    ...(durations !== undefined && { durationMs: DurationSketch.from(durations).durations() }),
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
    return [introspectSchedule(description, service, processes, record, now, upcoming)];
  });
}
