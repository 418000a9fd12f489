import { DuplicateNameError, InvalidOptionError, quote } from '../../errors.js';
import { workflowType } from '../../transports/workflow-type.js';
import { UnknownEventError, UnknownWorkflowError } from '../errors.js';
import { type HandlerInfo, handlerInfo } from '../events/agent-support/handler-info.js';
import { ReportedAgents } from '../events/agent-support/reported-agents.js';
import type { RegisteredEvent } from '../events/definition/event.js';
import type { KeySource } from '../events/definition/event-key.js';
import { agentsRevision, describeHub, type HubDescription } from '../introspection/descriptions/hub-description.js';
import type { EventRef } from '../references/event-ref.js';
import type { WorkflowRef } from '../references/workflow-ref.js';
import type { AnyWorkflow } from '../runs/definition/workflow.js';
import type { RegisteredSchedule } from '../schedules/schedule.js';
import { checkChains } from './check-chains.js';
import { nearestNames } from './nearest-names.js';

/** Runs of one type. */
export interface RunSource {
  readonly name: string;
  /** Type of the runs in the transport. */
  readonly type: string;
  /** Steps of a list. */
  readonly steps: AnyWorkflow['steps'];
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

  constructor() {
    this.#handlerInfos = [this.reportedAgents];
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

  /** Returns the event or the workflow of a schedule. @throws {UnknownEventError | UnknownWorkflowError} */
  targetOf({ name, emit, start }: RegisteredSchedule): RegisteredEvent | AnyWorkflow {
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
  keySourceOf({ name, key, trigger, concurrencyPerKey }: AnyWorkflow): KeySource {
    const inherited = concurrencyPerKey === undefined ? undefined : this.#events.get(trigger ?? '')?.key;
    const found = key ?? inherited;
    // The schema, or the caller's claim, ensures that the input has the parameter's type.
    return { type: name, ...(found !== undefined && { key: found as (input: unknown) => unknown }) };
  }

  hasEvent(type: string): boolean {
    return this.#events.has(type);
  }

  hasWorkflow(name: string): boolean {
    return this.#workflows.has(name);
  }

  /** Returns a registered event. @throws {UnknownEventError | InvalidOptionError} */
  event(target: EventRef<never, unknown> | string): RegisteredEvent {
    return this.eventOfType(typeof target === 'string' ? target : target?.type);
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
    const name = typeof target === 'string' ? target : target?.name;
    if (typeof name !== 'string') {
      throw new InvalidOptionError('workflow', 'a name or the result of createWorkflow', target);
    }
    const workflow = this.#workflows.get(name);
    if (workflow === undefined) throw new UnknownWorkflowError(name, nearestNames(name, this.#workflows.keys()));
    return workflow;
  }

  /** Returns the runs of a workflow, or of an event type that an agent handles. @throws {UnknownWorkflowError} */
  runOf(source: WorkflowRef<never> | EventRef<never, unknown> | string): RunSource {
    const name = typeof source === 'object' && source !== null && 'type' in source ? source.type : source;
    const event = typeof name === 'string' && !this.#workflows.has(name) ? this.#events.get(name) : undefined;
    if (event?.handler !== undefined && handlerInfo(event.handler)?.isDurable === true) {
      return { name: event.type, type: event.type, steps: [] };
    }
    const workflow = this.workflow(name);
    return { name: workflow.name, type: workflowType(workflow.name), steps: workflow.steps };
  }

  findEvent(type: string): RegisteredEvent | undefined {
    return this.#events.get(type);
  }
  /** Checks handlers that depend on other registrations. Throws what they throw. */
  checkHandlers(): void {
    for (const { check } of this.#handlerInfos) check?.(this);
  }

  /** @throws {UnknownEventError | EventCycleError} */
  checkChains(allowCycles: boolean): void {
    checkChains(this.#events, this.#workflows, allowCycles);
  }

  /** Returns the description that other hubs on the transport read. */
  describe(service: string): HubDescription {
    return describeHub(
      service,
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
