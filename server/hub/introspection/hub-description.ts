import { isName } from '../../options.js';
import { workflowType } from '../../transports/delivery.js';
import type { HandlerFunction } from '../events/context.js';
import type { RegisteredEvent } from '../events/event.js';
import { type AgentDescription, addUsage, type HandlerInfo, handlerInfo } from '../events/reported-agents.js';
import { describeLimit } from '../limits/limit.js';
import type { AnyWorkflow, ResolvedStep } from '../runs/workflow.js';
import type { RegisteredSchedule } from '../schedules/schedule.js';
import { describeSchedule, type ScheduleDescription } from '../schedules/schedule-introspection.js';
import type { EventIntrospection, WorkflowIntrospection } from './introspection.js';
import type { LiveRelease } from './releases.js';

type Counted = 'metrics' | 'recent' | 'lastFailure' | 'processes' | 'services';

/** Description of an event type by the hub that registered it. */
export type EventDescription = Omit<EventIntrospection, Counted>;

/** Description of a workflow by the hub that registered it. */
export type WorkflowDescription = Omit<WorkflowIntrospection, Counted | 'runs'>;

/** Registrations of a hub as other hubs on the transport read them, without handlers and counts. */
export interface HubDescription {
  readonly service: string;
  readonly events: readonly EventDescription[];
  readonly workflows: readonly WorkflowDescription[];
  readonly agents: readonly AgentDescription[];
  readonly schedules: readonly ScheduleDescription[];
  /** Release of its process. */
  readonly release?: string;
  /** The hub has stopped, and the transport retained its description. */
  readonly isStopped?: boolean;
}

/** Returns `true` if the hub runs: its transport has not merely retained its description. */
export function isRunning({ isStopped }: HubDescription): boolean {
  return isStopped !== true;
}

/** Describes the registrations of a hub. */
export function describeHub(
  { service, release }: LiveRelease,
  events: readonly RegisteredEvent[],
  workflows: readonly AnyWorkflow[],
  schedules: readonly RegisteredSchedule[],
  handlerInfos: readonly Pick<HandlerInfo, 'agents'>[],
): HubDescription {
  return {
    service,
    ...(release !== undefined && { release }),
    events: events.map(descriptionOfEvent),
    workflows: workflows.map(descriptionOfWorkflow),
    agents: describeAgents(handlerInfos),
    schedules: schedules.map(describeSchedule),
  };
}

const describedEvents = new WeakMap<RegisteredEvent, EventDescription>();
const describedWorkflows = new WeakMap<AnyWorkflow, WorkflowDescription>();

/** Returns the same object every time, unless the agent of the event has changed. */
function descriptionOfEvent(event: RegisteredEvent): EventDescription {
  const known = describedEvents.get(event);
  if (known !== undefined && hasSameAgent(known, event)) return known;
  const description = describeEvent(event);
  describedEvents.set(event, description);
  return description;
}

function hasSameAgent({ agent }: EventDescription, { handler }: RegisteredEvent): boolean {
  if (handler === undefined || handlerInfo(handler) === undefined) return true;
  return JSON.stringify(agent) === JSON.stringify(describeHandler(handler).agent);
}

/** Returns the same object every time. */
function descriptionOfWorkflow(workflow: AnyWorkflow): WorkflowDescription {
  let description = describedWorkflows.get(workflow);
  if (description === undefined) {
    description = describeWorkflow(workflow);
    describedWorkflows.set(workflow, description);
  }
  return description;
}

/** Maximum number of events, workflows or agents that are read of one description. */
const maxDescribed = 100_000;

/**
 * Parses the description of a hub, which may run another version. Entries that it does not understand are omitted, and
 * so is all of a text that is not JSON.
 */
export function parseDescription(json: string): HubDescription {
  const found = Object(parseJson(json)) as Record<string, unknown>;
  const { service, release, events, workflows, agents, schedules, isStopped } = found;
  // Only the fields that the hub reads are checked. The others are displayed as they are.
  return {
    service: String(service),
    ...(typeof release === 'string' && { release }),
    events: listOf<EventDescription>(events, ({ type, kind }) => isName(type) && typeof kind === 'string'),
    workflows: listOf<WorkflowDescription>(
      workflows,
      ({ name, steps }) => isName(name) && Array.isArray(steps) && steps.every(isNamed),
    ),
    agents: listOf<AgentDescription>(
      agents,
      ({ name, runs, tokenUsage, durations = [], longestMs = -1, begun = 0, hours = [] }) =>
        typeof name === 'string' &&
        Number.isSafeInteger(begun) &&
        isHours(hours) &&
        isObject(runs) &&
        isObject(tokenUsage) &&
        isSketch(durations) &&
        typeof longestMs === 'number',
    ),
    schedules: listOf<ScheduleDescription>(
      schedules,
      ({ name, cron = '', timeZone = '', everyMs = 1 }) =>
        typeof name === 'string' && typeof cron === 'string' && typeof timeZone === 'string' && Number(everyMs) > 0,
    ),
    ...(isStopped === true && { isStopped }),
  };
}

function listOf<T>(value: unknown, isValid: (item: Record<string, unknown>) => boolean): T[] {
  // `isValid` checks the fields of T that the hub reads.
  return Array.isArray(value)
    ? value.slice(0, maxDescribed).filter((item): item is T => isObject(item) && isValid(item))
    : [];
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function isNamed(value: unknown): boolean {
  return isObject(value) && typeof value['name'] === 'string';
}

function isSketch(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => Number.isSafeInteger(item));
}

function isHours(value: unknown): boolean {
  const isHour = (hour: unknown): boolean =>
    isObject(hour) && [hour['at'], hour['runs'], hour['tokens'], hour['cost'] ?? 0].every(Number.isFinite);
  return Array.isArray(value) && value.every(isHour);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function describeWorkflow(workflow: AnyWorkflow): WorkflowDescription {
  const { name, description, triggers, steps, followUps, concurrencyPerKey } = workflow;
  const [trigger] = triggers;
  return {
    name,
    ...(description !== undefined && { description }),
    ...(trigger !== undefined && { trigger: trigger.type }),
    ...(triggers.length > 1 && { triggers: triggers.map(({ type }) => type) }),
    ...(concurrencyPerKey !== undefined && { concurrencyPerKey }),
    ...(workflow.tags !== undefined && { hasTags: true }),
    ...(workflow.showTags === true && { showTags: true }),
    ...((workflow.tags ?? workflow.receives ?? workflow.cancelOn) === undefined && { recordsInput: true }),
    steps: steps.map(describeStep),
    ...followUps,
  };
}

function describeStep({ name, handler, stage: number }: ResolvedStep): WorkflowIntrospection['steps'][number] {
  const info = handlerInfo(handler);
  const stage = number !== undefined && { stage: number };
  return info?.kind === 'agent'
    ? { name, kind: 'agent', agent: info.name, ...stage }
    : { name, kind: 'step', ...stage };
}

function describeHandler(handler: HandlerFunction | undefined): Pick<EventIntrospection, 'kind' | 'agent'> {
  if (handler === undefined) return { kind: 'declared' };
  const info = handlerInfo(handler);
  if (info === undefined) return { kind: 'handler' };
  const [first] = info.agents();
  if (info.kind !== 'agent' || first === undefined) return { kind: info.kind };
  const { name, model, tools, delegates, handoffs } = first;
  return { kind: info.kind, agent: { name, model, tools, delegates, ...(handoffs && { handoffs }) } };
}

/** Returns the agents of all handlers, one per name. */
function describeAgents(handlerInfos: readonly Pick<HandlerInfo, 'agents'>[]): AgentDescription[] {
  const byName = new Map<string, AgentDescription>();
  for (const agent of handlerInfos.flatMap((info) => info.agents())) {
    if (!byName.has(agent.name)) byName.set(agent.name, agent);
  }
  return [...byName.values()];
}

/** Returns a number that grows with each ended run and each used token. */
export function agentsRevision(handlerInfos: readonly Pick<HandlerInfo, 'agents'>[]): number {
  return describeAgents(handlerInfos)
    .flatMap(({ runs, tokenUsage }) => [...Object.values(runs), tokenUsage.totalTokens])
    .reduce((sum, count) => sum + count, 0);
}

function describeEvent(event: RegisteredEvent): EventDescription {
  const { type, description, key, handler, retry, timeoutMs, concurrency, rate, followUps, schema } = event;
  const { concurrencyPerKey, debounceMs, debounceMaxMs } = event;
  const limit = describeLimit(event.limit);
  return {
    type,
    ...describeHandler(handler),
    ...(description !== undefined && { description }),
    ...(retry !== undefined && {
      retry: {
        maxAttempts: retry.maxAttempts,
        initialDelayMs: retry.initialDelayMs,
        maxDelayMs: retry.maxDelayMs,
        factor: retry.factor,
        jitter: retry.jitter,
      },
    }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(concurrency !== undefined && { concurrency }),
    ...(key !== undefined && { hasKey: true }),
    ...(concurrencyPerKey !== undefined && { concurrencyPerKey }),
    ...(rate !== undefined && { rate }),
    ...(limit !== undefined && { limit }),
    ...(debounceMs !== undefined && { debounceMs }),
    ...(debounceMaxMs !== undefined && { debounceMaxMs }),
    ...followUps,
    ...(event.tags === undefined ? { recordsInput: true } : { hasTags: true }),
    ...(event.showTags === true && { showTags: true }),
    ...(schema?.jsonSchema !== undefined && { schema: schema.jsonSchema }),
  };
}

/** Registered event type or workflow, and the hubs that handle it. */
export interface Served<T> {
  readonly description: T;
  /** Number of running hubs that handle it, per service. */
  readonly processes: ReadonlyMap<string, number>;
  /** Number of running hubs that handle it. */
  readonly processCount: number;
}

/** Registrations of all hubs of one transport. */
export interface Cluster {
  readonly events: readonly Served<EventDescription>[];
  readonly workflows: readonly Served<WorkflowDescription>[];
  readonly agents: readonly AgentDescription[];
  /** Types with counts: those of the events, then those of the workflows. */
  readonly types: readonly string[];
  /** Types with runs: those of the workflows. */
  readonly runTypes: readonly string[];
}

/** Merges the descriptions of hubs, and merges events and workflows again only if they have changed since the last time. */
export class DescriptionMerger {
  #last:
    | { readonly own: HubDescription; readonly running: readonly HubDescription[]; readonly cluster: Cluster }
    | undefined;

  /** Does the same as {@link mergeDescriptions}. All but the agents are the same objects until an event or a workflow changes. */
  merge(own: HubDescription, running: readonly HubDescription[]): Cluster {
    const last = this.#last;
    const isKnown =
      last !== undefined &&
      registersSame(own, last.own) &&
      running.length === last.running.length &&
      running.every((hub, index) => registersSame(hub, last.running[index]));
    const cluster = isKnown ? { ...last.cluster, agents: agentsOf(own, running) } : mergeDescriptions(own, running);
    this.#last = { own, running, cluster };
    return cluster;
  }
}

function registersSame(one: HubDescription, other: HubDescription | undefined): boolean {
  return (
    one === other ||
    (one.service === other?.service &&
      one.isStopped === other.isStopped &&
      areSame(one.events, other.events) &&
      areSame(one.workflows, other.workflows))
  );
}

function areSame(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.length === others.length && some.every((item, index) => item === others[index]);
}

function agentsOf(own: HubDescription, running: readonly HubDescription[]): AgentDescription[] {
  return mergeAgents(running.length === 0 ? own.agents : running.flatMap(({ agents }) => agents));
}

/**
 * Merges the descriptions of hubs. If several hubs describe the same type or workflow, the first hub that handles it
 * wins.
 *
 * @param own description of the requesting hub; it comes first, even if the hub does not run
 * @param running descriptions of all running hubs; of stopped ones if a transport retained them
 */
export function mergeDescriptions(own: HubDescription, running: readonly HubDescription[]): Cluster {
  const all = [own, ...running];
  const events = merge(
    all,
    running,
    (hub) => hub.events,
    ({ type }) => type,
    ({ kind }) => kind !== 'declared',
  );
  const workflows = merge(
    all,
    running,
    (hub) => hub.workflows,
    ({ name }) => name,
    () => true,
  );
  const runTypes = workflows.map(({ description }) => workflowType(description.name));
  const types = [...events.map(({ description }) => description.type), ...runTypes];
  return { events, workflows, agents: agentsOf(own, running), types, runTypes };
}

function merge<T>(
  all: readonly HubDescription[],
  running: readonly HubDescription[],
  itemsOf: (hub: HubDescription) => readonly T[],
  nameOf: (item: T) => string,
  isServed: (item: T) => boolean,
): Served<T>[] {
  const merged = new Map<string, { description: T; processes: Map<string, number>; processCount: number }>();
  for (const item of all.flatMap(itemsOf)) {
    const found = merged.get(nameOf(item));
    if (found === undefined) merged.set(nameOf(item), { description: item, processes: new Map(), processCount: 0 });
    else if (!isServed(found.description) && isServed(item)) found.description = item;
  }
  for (const hub of running.filter(isRunning)) {
    for (const item of itemsOf(hub).filter(isServed)) {
      const found = merged.get(nameOf(item));
      if (found === undefined) continue;
      found.processes.set(hub.service, (found.processes.get(hub.service) ?? 0) + 1);
      found.processCount += 1;
    }
  }
  return [...merged.values()];
}

/** Merges agents of the same name, which are one agent in several processes, and adds up their counts. */
function mergeAgents(all: readonly AgentDescription[]): AgentDescription[] {
  const merged = new Map<string, AgentDescription>();
  for (const agent of all) {
    const found = merged.get(agent.name);
    merged.set(agent.name, found === undefined ? agent : { ...found, ...addUsage(found, agent) });
  }
  return [...merged.values()];
}
