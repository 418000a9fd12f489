import { DuplicateNameError, InvalidOptionError, quote } from '../errors.js';
import { workflowOf, workflowType } from '../transports/delivery.js';
import { EventCycleError, UnknownEventError, UnknownWorkflowError } from './errors.js';
import type { EventRef, WorkflowRef } from './events/emit.js';
import {
  definitionConfig,
  type EventDefinitionConfig,
  type KeySource,
  type RegisteredEvent,
  resolveEvent,
} from './events/event.js';
import { type FollowUpNames, followUpKeys } from './events/follow-ups.js';
import { type HandlerInfo, handlerInfo, ReportedAgents } from './events/reported-agents.js';
import { agentsRevision, describeHub, type HubDescription } from './introspection/hub-description.js';
import { nearestNames } from './nearest-names.js';
import { definedContract, type WorkflowContract } from './runs/define-workflow.js';
import type { AnyWorkflow } from './runs/workflow.js';
import type { RegisteredSchedule } from './schedules/schedule.js';

/** Runs of one type. */
export interface RunSource {
  readonly name: string;
  /** Type of the runs in the transport. */
  readonly type: string;
  /** Steps of a list. */
  readonly steps: AnyWorkflow['steps'];
}

/** Workflow of which a hub may start runs. */
export interface StartableWorkflow {
  readonly contract: WorkflowContract;
  /** The same, if this hub runs it. */
  readonly registered: AnyWorkflow | undefined;
}

/** Events and workflows that are registered on one hub. */
export class Registry {
  readonly #events = new Map<string, RegisteredEvent>();
  readonly #workflows = new Map<string, AnyWorkflow>();
  readonly #schedules = new Map<string, RegisteredSchedule>();
  // Stored separately: each poll of the dashboard reads it, and thousands of types may have no agent.
  readonly #handlerInfos: Pick<HandlerInfo, 'agents' | 'check'>[];
  /** Agents that handlers run themselves. */
  readonly reportedAgents: ReportedAgents = new ReportedAgents();
  #description: { readonly state: string; readonly text: string } | undefined;

  readonly #release: string | undefined;

  /** @param release release of the process */
  constructor(release?: string) {
    this.#release = release;
    this.#handlerInfos = [this.reportedAgents];
  }

  /** Types of handled events and of workflows, with the windows of their rates. */
  get handledTypes(): readonly { readonly type: string; readonly perMs?: number | undefined }[] {
    const handled = [...this.#events.values()].filter(({ handler }) => handler !== undefined);
    const runs = [...this.#workflows.keys()].map((name) => ({ type: workflowType(name) }));
    return [...handled.map(({ type, rate }) => ({ type, perMs: rate?.perMs })), ...runs];
  }

  get size(): number {
    return this.#events.size + this.#workflows.size + this.#schedules.size;
  }

  get events(): Iterable<RegisteredEvent> {
    return this.#events.values();
  }

  get workflows(): Iterable<AnyWorkflow> {
    return this.#workflows.values();
  }

  get schedules(): readonly RegisteredSchedule[] {
    return [...this.#schedules.values()];
  }

  /** @throws {DuplicateNameError} */
  addSchedule(schedule: RegisteredSchedule): void {
    if (this.#schedules.has(schedule.name)) throw new DuplicateNameError('schedule', schedule.name);
    this.#schedules.set(schedule.name, schedule);
  }

  /** @throws {DuplicateNameError} */
  addEvent(event: RegisteredEvent): void {
    if (this.#events.has(event.type)) throw new DuplicateNameError('event', event.type);
    this.#events.set(event.type, event);
    this.#addInfo(event.handler);
  }

  /** @throws {DuplicateNameError} */
  addWorkflow(workflow: AnyWorkflow): void {
    if (this.#workflows.has(workflow.name)) throw new DuplicateNameError('workflow', workflow.name);
    this.#workflows.set(workflow.name, workflow);
    for (const { handler } of workflow.steps) this.#addInfo(handler);
  }

  /**
   * Returns the event or the workflow of a schedule.
   *
   * @throws {UnknownEventError | UnknownWorkflowError}
   * @throws {InvalidOptionError} if the `overlap` of the schedule does not fit it
   */
  targetOf(schedule: RegisteredSchedule): RegisteredEvent | AnyWorkflow {
    const target = this.#findTarget(schedule);
    checkTargetOverlap(schedule, target);
    return target;
  }

  /**
   * Checks that the `overlap` of a schedule that is set at run time fits its target, of which the hub may have the
   * definition alone.
   *
   * @throws {UnknownEventError | InvalidOptionError}
   */
  checkOverlap({ name, overlap }: ScheduledOverlap, { emit, start }: StoredTarget): void {
    if (emit !== undefined) checkTargetOverlap({ name, overlap }, this.event(emit));
    const found = start === undefined ? undefined : this.startable(start, '');
    if (found !== undefined) checkTargetOverlap({ name, overlap }, { ...found.contract, ...found.registered });
  }

  #findTarget({ name, emit, start }: RegisteredSchedule): RegisteredEvent | AnyWorkflow {
    if (start !== undefined) return this.workflow(start);
    const event = this.#events.get(emit ?? '');
    const usedBy = `schedule ${quote(name)}`;
    if (event === undefined)
      throw new UnknownEventError(emit ?? '', nearestNames(emit ?? '', this.#events.keys()), usedBy);
    return event;
  }

  /**
   * Returns the name of a workflow and the function that computes the keys of its runs; no function if nothing depends
   * on the keys.
   */
  keySourceOf({
    name,
    key,
    triggers = [],
    concurrencyPerKey,
    overlap,
    tags,
  }: WorkflowContract & Partial<Pick<AnyWorkflow, 'triggers' | 'concurrencyPerKey'>>): KeySource {
    const [trigger] = triggers;
    const inherited = concurrencyPerKey === undefined ? undefined : this.#events.get(trigger?.type ?? '')?.key;
    const found = key ?? inherited;
    // The schema, or the caller's claim, ensures that the input has the parameter's type.
    return {
      type: name,
      ...(found !== undefined && { key: found as (input: unknown) => unknown }),
      ...(overlap !== undefined && { overlap }),
      // As above.
      ...(tags !== undefined && { tags: tags as (input: unknown) => unknown }),
    };
  }

  hasEvent(type: string): boolean {
    return this.#events.has(type);
  }

  hasWorkflow(name: string): boolean {
    return this.#workflows.has(name);
  }

  /** Returns a registered event, or one whose definition is given. @throws {UnknownEventError | InvalidOptionError} */
  event(target: EventRef<never, unknown> | string): RegisteredEvent {
    const type = typeof target === 'string' ? target : target?.type;
    const config = this.#events.has(type) ? undefined : definitionConfig(target);
    return config === undefined ? this.eventOfType(type) : definedEvent(config);
  }

  /** Returns the registered event of a type. @throws {UnknownEventError | InvalidOptionError} */
  eventOfType(type: string): RegisteredEvent {
    if (typeof type !== 'string') {
      throw new InvalidOptionError('event type', 'a string or the result of hub.event', type);
    }
    const event = this.#events.get(type);
    if (event === undefined) throw new UnknownEventError(type, nearestNames(type, this.#events.keys()));
    return event;
  }

  /** Returns a registered workflow. @throws {UnknownWorkflowError | InvalidOptionError} */
  workflow(target: WorkflowRef<never> | string): AnyWorkflow {
    const name = workflowName(target);
    const workflow = this.#workflows.get(name);
    if (workflow !== undefined) return workflow;
    const remedy =
      'register it with hub.workflow(createWorkflow(definition, { run })); ctx.startWorkflow starts one of another service';
    throw new UnknownWorkflowError(name, this.nearestWorkflows(name), definedContract(target) && remedy);
  }

  /** Returns names of registered workflows that are similar to a name, nearest first. */
  nearestWorkflows(name: string): readonly string[] {
    return nearestNames(name, this.#workflows.keys());
  }

  /** Returns `true` if a hub of a service runs the workflow of a definition. */
  runs(contract: WorkflowContract, service: string): boolean {
    return (contract.service ?? service) === service && this.#workflows.has(contract.name);
  }

  /**
   * Returns a workflow that a hub may start: one that is registered, or of which the definition is given.
   *
   * @param service service of the hub
   * @throws {InvalidOptionError}
   */
  startable(target: WorkflowRef<never> | string, service: string): StartableWorkflow | undefined {
    const registered = this.#workflows.get(workflowName(target));
    const contract = definedContract(target);
    if (registered !== undefined && (contract === undefined || this.runs(contract, service))) {
      return { contract: registered, registered };
    }
    return contract && { contract, registered: undefined };
  }

  /** Returns the runs of a workflow, or of an event type that an agent handles. @throws {UnknownWorkflowError} */
  runOf(source: WorkflowRef<never> | EventRef<never, unknown> | string): RunSource {
    const name = typeof source === 'object' && source !== null && 'type' in source ? source.type : source;
    const event = typeof name === 'string' && !this.#workflows.has(name) ? this.#agentEvent(name) : undefined;
    if (event !== undefined) return { name: event.type, type: event.type, steps: [] };
    const workflow = this.workflow(name);
    return { name: workflow.name, type: workflowType(workflow.name), steps: workflow.steps };
  }

  /** Returns `true` if this hub has the definition of the runs of a type. */
  isForkable(type: string): boolean {
    return this.#agentEvent(type) !== undefined || this.hasWorkflow(workflowOf(type) ?? type);
  }

  /** Returns the workflow, or the event that an agent handles, of the runs of a type. @throws {UnknownWorkflowError} */
  forkable(type: string): RegisteredEvent | WorkflowContract {
    return this.#agentEvent(type) ?? this.workflow(workflowOf(type) ?? type);
  }

  /** Returns an event type that an agent handles. */
  #agentEvent(type: string): RegisteredEvent | undefined {
    const event = this.#events.get(type);
    const isDurable = event?.handler !== undefined && handlerInfo(event.handler)?.isDurable === true;
    return isDurable ? event : undefined;
  }

  findEvent(type: string): RegisteredEvent | undefined {
    return this.#events.get(type);
  }
  /** Checks handlers that depend on other registrations. Throws what they throw. */
  checkHandlers(): void {
    for (const { check } of this.#handlerInfos) check?.(this);
  }

  /**
   * Registers the definitions that other registrations refer to and that are not registered, and checks what follows what.
   *
   * @throws {UnknownEventError | EventCycleError}
   */
  checkChains(allowCycles: boolean): void {
    const registered = [...this.#events.values(), ...this.#workflows.values(), ...this.#schedules.values()];
    for (const config of registered.flatMap(({ referenced }) => referenced)) {
      if (!this.#events.has(config.type)) this.addEvent(definedEvent(config));
    }
    checkChains(this.#events, this.#workflows, allowCycles);
  }

  /** Returns the description that other hubs on the transport read. */
  describe(service: string): HubDescription {
    return describeHub(
      { service, release: this.#release },
      [...this.#events.values()],
      [...this.#workflows.values()],
      this.schedules,
      this.#handlerInfos,
    );
  }

  /** Returns the description as JSON. The text is the same object until the usage of an agent changes. */
  descriptionOf(service: string): string {
    // A registry of agents may grow at any time.
    const agents = this.#handlerInfos.reduce((sum, info) => sum + info.agents().length, 0);
    const state = `${this.size} ${agents} ${this.agentsRevision()} ${service}`;
    if (this.#description?.state !== state) {
      this.#description = { state, text: JSON.stringify(this.describe(service)) };
    }
    return this.#description.text;
  }

  /** Returns a number that grows with each agent run and each token. */
  agentsRevision(): number {
    return agentsRevision(this.#handlerInfos);
  }

  #addInfo(handler: object | undefined): void {
    const info = handler && handlerInfo(handler);
    if (info !== undefined) this.#handlerInfos.push(info);
  }
}

export function workflowName(target: WorkflowRef<never> | string): string {
  const name = typeof target === 'string' ? target : target?.name;
  if (typeof name === 'string') return name;
  throw new InvalidOptionError('workflow', 'a name or the result of createWorkflow or defineWorkflow', target);
}

const definedEvents = new WeakMap<EventDefinitionConfig, RegisteredEvent>();

/** Returns the event of a definition that no hub of this process need have registered. */
function definedEvent(config: EventDefinitionConfig): RegisteredEvent {
  let event = definedEvents.get(config);
  if (event === undefined) {
    event = resolveEvent(config);
    definedEvents.set(config, event);
  }
  return event;
}

/**
 * Checks that every follow-up and trigger is a registered event, that a trigger has a key if its workflow limits keys,
 * and that follow-ups and triggers form no cycle.
 *
 * @throws {UnknownEventError | InvalidOptionError | EventCycleError}
 */
function checkChains(
  events: ReadonlyMap<string, RegisteredEvent>,
  workflows: ReadonlyMap<string, AnyWorkflow>,
  allowCycles: boolean,
): void {
  const check = (target: string | undefined, usedBy: string): void => {
    if (target === undefined || events.has(target)) return;
    throw new UnknownEventError(target, nearestNames(target, events.keys()), usedBy);
  };
  const checkAll = (names: FollowUpNames, owner: string): void => {
    for (const key of followUpKeys) check(names[key], `${key} of ${owner}`);
  };
  for (const { type, followUps } of events.values()) checkAll(followUps, quote(type));
  for (const { name, triggers, followUps, concurrencyPerKey } of workflows.values()) {
    for (const { type } of triggers) {
      check(type, `trigger of workflow ${quote(name)}`);
      if (concurrencyPerKey !== undefined && events.get(type)?.key === undefined) {
        const expected = `set, because workflow ${quote(name)} has concurrencyPerKey`;
        throw new InvalidOptionError(`key of event ${quote(type)}`, expected, undefined);
      }
    }
    checkAll(followUps, `workflow ${quote(name)}`);
  }
  if (allowCycles) return;
  const cycle = findCycle(causalGraph(events, workflows));
  if (cycle !== undefined) throw new EventCycleError(cycle);
}

/** Returns the types and workflows that each event and workflow causes. */
function causalGraph(
  events: ReadonlyMap<string, RegisteredEvent>,
  workflows: ReadonlyMap<string, AnyWorkflow>,
): ReadonlyMap<string, readonly string[]> {
  const targets = (names: FollowUpNames): string[] => followUpKeys.flatMap((key) => names[key] ?? []);
  // Event types contain no control characters, so this key cannot be one.
  const node = (name: string): string => `workflow\t${name}`;
  const all = new Map([...events].map(([type, { followUps }]) => [type, targets(followUps)]));
  for (const { name, triggers, followUps } of workflows.values()) {
    all.set(node(name), targets(followUps));
    for (const { type } of triggers) all.get(type)?.push(node(name));
  }
  return all;
}

/** Searches depth first. Does not recurse, because a chain may be longer than the call stack. */
function findCycle(graph: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  for (const start of graph.keys()) {
    const onPath = new Set<string>();
    const open: { readonly node: string; readonly targets: string[] }[] = [];
    const enter = (node: string): void => {
      onPath.add(node);
      open.push({ node, targets: [...(graph.get(node) ?? [])] });
    };
    if (!done.has(start)) enter(start);
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      const target = top.targets.shift();
      if (target === undefined) {
        open.pop();
        onPath.delete(top.node);
        done.add(top.node);
      } else if (onPath.has(target)) {
        const path = [...onPath];
        return [...path.slice(path.indexOf(target)), target].map((node) => node.replace('\t', ' '));
      } else if (!done.has(target)) {
        enter(target);
      }
    }
  }
  return undefined;
}

interface ScheduledOverlap {
  readonly name: string;
  readonly overlap?: RegisteredSchedule['overlap'] | undefined;
}

/** Target of a schedule, as `hub.schedules.set` receives it. */
interface StoredTarget {
  readonly emit?: EventRef<never, unknown> | string;
  readonly start?: WorkflowRef<never> | string;
}

/** @throws {InvalidOptionError} if the `overlap` of a schedule does not fit its target */
function checkTargetOverlap(
  { name, overlap }: ScheduledOverlap,
  target: RegisteredEvent | (WorkflowContract & Partial<Pick<AnyWorkflow, 'concurrencyPerKey'>>),
): void {
  if (overlap === undefined) return;
  const subject = 'type' in target ? `event ${quote(target.type)}` : `workflow ${quote(target.name)}`;
  const usedBy = `schedule ${quote(name)}`;
  if (target.key === undefined)
    throw new InvalidOptionError(`key of ${subject}`, `set if overlap of ${usedBy} is`, undefined);
  if (overlap === 'replace' && target.overlap !== 'replace' && target.concurrencyPerKey !== 1) {
    throw new InvalidOptionError(
      `concurrencyPerKey of ${subject}`,
      `1 if overlap of ${usedBy} is 'replace'`,
      target.concurrencyPerKey,
    );
  }
}
