import type { Redactor } from '../../redaction/redactor.js';
import type { ScheduleRecord } from '../../transports/schedules.js';
import type { TypeActivity } from '../../transports/statistics/stats.js';
import { sumCounts } from '../../transports/statistics/sum-counts.js';
import type { Overview, RunRecord, TransportManager, TypeCounts } from '../../transports/transport.js';
import { workflowType } from '../../transports/workflow-type.js';
import { version } from '../../version.js';
import {
  introspectSchedule,
  type ScheduleDescription,
  type ScheduleIntrospection,
} from '../schedules/schedule-introspection.js';
import {
  type EventDescription,
  type HubDescription,
  parseDescription,
  type WorkflowDescription,
} from './descriptions/hub-description.js';
import type {
  EventIntrospection,
  HubIntrospection,
  RangeIntrospection,
  WorkflowIntrospection,
} from './introspection.js';
import { type Cluster, mergeDescriptions, type Served } from './descriptions/merge-descriptions.js';
import { introspectRun } from '../runs/run-introspection.js';
import { approvalsOfAgent } from './waiting-approvals.js';

const runsShown = 10;

// Types are registered at starts. Descriptions that name others at every read come from no hub.
const maxReads = 3;

/** Number of steps per run that an introspection contains, the latest ones. `hub.run` returns all. */
const shownSteps = 100;

/** Reads the registrations and counts of all hubs of a transport. */
export class Introspector {
  readonly #transport: TransportManager;
  readonly #redactor: Redactor;
  /** Running hubs at the last read. Lets the next read request all counts in one round trip. */
  #running: readonly HubDescription[] = [];
  /** Parsed descriptions by their text. Processes of one service send the same text, and send it repeatedly. */
  #parsed: ReadonlyMap<string, HubDescription> = new Map();

  constructor(transport: TransportManager, redactor: Redactor) {
    this.#transport = transport;
    this.#redactor = redactor;
  }

  /** Reads all registrations with their counts. */
  async read(own: HubDescription, startedAt: number | null): Promise<HubIntrospection> {
    const { cluster, counted, runs, overview } = await this.#overview(own);
    const { service, name, clock } = this.#transport;
    const { schedules, total, keepsDeadLetters } = overview;
    const events = cluster.events.flatMap((event) => {
      const found = counted.get(event.description.type);
      return found === undefined ? [] : [introspectEvent(event, found)];
    });
    const workflows = cluster.workflows.flatMap((workflow) => {
      const type = workflowType(workflow.description.name);
      const found = counted.get(type);
      return found === undefined ? [] : [introspectWorkflow(workflow, found, runs.get(type) ?? [], this.#redactor)];
    });
    return {
      hub: {
        service,
        transport: name,
        version,
        startedAt,
        now: clock.now(),
        processes: this.#running.filter(({ isStopped }) => isStopped !== true).length,
        keepsDeadLetters,
      },
      totals: { metrics: sumCounts(events.map(({ metrics }) => metrics)), ...total },
      events,
      workflows,
      agents: cluster.agents.map((agent) => ({
        ...agent,
        approvalsWaiting: approvalsOfAgent(agent.name, events, workflows),
      })),
      schedules: introspectSchedules(own, this.#running, schedules, clock.now()),
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
    return mergeDescriptions(own, await this.#registered());
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
      const cluster = mergeDescriptions(own, known);
      const { types, runTypes } = typesOf(cluster);
      const overview = await this.#transport.overview({ types, runTypes, runLimit: runsShown });
      const { registered, counts, activity, runs } = overview;
      const running = this.#parse(registered);
      const isSame = running.length === known.length && running.every((hub, index) => hub === known[index]);
      const found = isSame ? cluster : mergeDescriptions(own, running);
      const counted = new Map<string, CountedType>();
      for (const [index, type] of types.entries()) {
        const [typeCounts, typeActivity] = [counts[index], activity[index]];
        if (typeCounts !== undefined && typeActivity !== undefined)
          counted.set(type, { ...typeCounts, typeActivity: redactActivity(typeActivity, this.#redactor) });
      }
      if (typesOf(found).types.some((type) => !counted.has(type)) && read < maxReads) continue;
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

interface ClusterOverview {
  readonly cluster: Cluster;
  readonly counted: ReadonlyMap<string, CountedType>;
  readonly runs: ReadonlyMap<string, readonly RunRecord[]>;
  readonly overview: Pick<Overview, 'schedules' | 'total' | 'keepsDeadLetters'>;
}

interface CountedType extends TypeCounts {
  readonly typeActivity: TypeActivity;
}

/** Returns the types with counts in a cluster, and those with runs. */
function typesOf({ events, workflows }: Cluster): { readonly types: string[]; readonly runTypes: string[] } {
  const runTypes = workflows.map(({ description }) => workflowType(description.name));
  return { types: [...events.map(({ description }) => description.type), ...runTypes], runTypes };
}

function redactActivity(activity: TypeActivity, redactor: Redactor): TypeActivity {
  const { lastFailure } = activity;
  return lastFailure === undefined ? activity : { ...activity, lastFailure: redactor.recorded(lastFailure) };
}

function introspectEvent(
  { description, processes }: Served<EventDescription>,
  { total, services, typeActivity }: CountedType,
): EventIntrospection {
  const shares = services.map(({ service, counts }) => ({
    service,
    processes: processes.get(service) ?? 0,
    metrics: counts,
  }));
  // Its name tells the operator which service the events wait for.
  const isAbandoned = shares.some((share) => share.processes === 0 && share.metrics.pending > 0);
  return {
    ...description,
    processes: sum(processes.values()),
    metrics: total,
    ...typeActivity,
    ...((shares.length > 1 || isAbandoned) && { services: shares }),
  };
}

function introspectWorkflow(
  { description, processes }: Served<WorkflowDescription>,
  { total, typeActivity }: CountedType,
  runs: readonly RunRecord[],
  redactor: Redactor,
): WorkflowIntrospection {
  return {
    ...description,
    processes: sum(processes.values()),
    metrics: total,
    ...typeActivity,
    runs: runs.map((run) => {
      const { steps, ...rest } = introspectRun(description.steps, run, redactor);
      return { ...rest, steps: steps.slice(-shownSteps) };
    }),
  };
}

/** Returns the schedules of the requesting hub, which may not run, and of all running hubs. */
function introspectSchedules(
  own: HubDescription,
  running: readonly HubDescription[],
  records: readonly ScheduleRecord[],
  now: number,
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
    return [introspectSchedule(description, service, having(running).length, record, now)];
  });
}

function sum(numbers: Iterable<number>): number {
  return [...numbers].reduce((total, number) => total + number, 0);
}
