import { randomUUID } from 'node:crypto';
import { InvalidOptionError } from '../errors.js';
import { checkName, OptionChecker } from '../options.js';
import type { Redactor } from '../redaction.js';
import { workflowType } from '../transports/delivery.js';
import type { ErasedPayloads, RunRecord } from '../transports/event-record.js';
import type { EventMetrics, FailureRecord } from '../transports/statistics/stats.js';
import type { RunStore, TransportManager } from '../transports/transport.js';
import { UnknownEventError, UnknownRunError } from './errors.js';
import type { EventRef, WorkflowRef } from './events/emit.js';
import {
  type DeadLetter,
  type DeadLetterOptions,
  type DeadLetterSource,
  readDeadLetters,
} from './introspection/dead-letters.js';
import {
  type EventDetails,
  EventSearch,
  type FindOptions,
  type RecentEventSummaries,
  type RequestDetails,
} from './introspection/event-search.js';
import { computeHealth, type Health } from './introspection/health.js';
import type { EventDescription } from './introspection/hub-description.js';
import type { HubIntrospection, RangeIntrospection } from './introspection/introspection.js';
import { Introspector, type RegisteredNames } from './introspection/introspector.js';
import {
  type AgentRunIntrospection,
  LiveState,
  type ProcessIntrospection,
  type WaitSummary,
} from './introspection/live-state.js';
import { WorkflowServices } from './introspection/workflow-services.js';
import type { Lifecycle } from './lifecycle.js';
import { nearestNames } from './nearest-names.js';
import type { Registry } from './registry.js';
import { definedContract, type WorkflowContract } from './runs/define-workflow.js';
import { introspectRun, type RunIntrospection, type RunQuery } from './runs/run-introspection.js';

/** The methods of a hub that read: counts, events, runs and health, most of them of all hubs of the transport. */
export class HubReader {
  readonly transport: TransportManager;
  protected readonly services: WorkflowServices;
  readonly #redactor: Redactor;
  readonly #registry: Registry;
  readonly #lifecycle: Lifecycle;
  readonly #introspector: Introspector;
  readonly #search: EventSearch;
  readonly #liveState: LiveState;
  /** Id of the hub among all hubs of the transport. */
  protected readonly hubId: string = randomUUID().slice(0, 8);

  constructor(transport: TransportManager, redactor: Redactor, registry: Registry, lifecycle: Lifecycle) {
    this.transport = transport;
    this.services = new WorkflowServices(transport);
    this.#redactor = redactor;
    this.#registry = registry;
    this.#lifecycle = lifecycle;
    this.#introspector = new Introspector(transport, redactor);
    this.#search = new EventSearch(transport.lookup, redactor, (workflow) =>
      this.#introspector.stepsOf(this.#registry.describe(transport.service), workflow),
    );
    this.#liveState = new LiveState(transport, redactor, () =>
      this.#introspector.cluster(this.#registry.describe(transport.service)),
    );
  }

  get service(): string {
    return this.transport.service;
  }

  async getRun(
    source: WorkflowRef<never> | EventRef<never, unknown> | string,
    id: string,
    options: RunQuery = {},
  ): Promise<RunIntrospection> {
    new OptionChecker(options, ['outputs'], 'getRun').boolean('outputs', options.outputs);
    checkName(id, 'id of getRun');
    const { service, runs } = this.transport;
    const contract = definedContract(source);
    if (contract !== undefined && !this.#registry.runs(contract, service))
      return this.#readElsewhere(contract, id, options);
    const { name, type, steps } = this.#registry.runOf(source);
    const record = await readRun(runs, type, id, options);
    if (record === undefined) throw new UnknownRunError(name, id);
    return introspectRun(steps, record, this.#redactor, options);
  }

  /** Reads a run that this hub would not run. */
  async #readElsewhere(contract: WorkflowContract, id: string, options: RunQuery): Promise<RunIntrospection> {
    const { name } = contract;
    const service = contract.service ?? (await this.services.serviceOfRun(name, id));
    const record = await readRun(this.transport.runs, workflowType(name), id, options, service);
    if (record === undefined) throw await this.services.unknownRun(name, id, service);
    const { steps = [] } = (await this.services.describe(name, service)) ?? {};
    return introspectRun(steps, record, this.#redactor, options);
  }

  async metrics(type: string): Promise<EventMetrics> {
    await this.#checkEvent(type);
    return this.transport.counts.metrics(type);
  }

  async failures(type: string): Promise<readonly FailureRecord[]> {
    await this.#checkEvent(type);
    return (await this.transport.counts.failures(type)).map(this.#redactor.recorded);
  }

  async deadLetters<TPayload>(
    source: DeadLetterSource<TPayload>,
    options: DeadLetterOptions = {},
  ): Promise<readonly DeadLetter<TPayload>[]> {
    const deadLetters = await readDeadLetters(source, options, this.transport.deadLetters, this.#redactor);
    // Checked only if there are none: dead letters may exist for a name that is no longer registered.
    if (deadLetters.length === 0 && typeof source === 'string') await this.#checkName(source);
    if (deadLetters.length === 0) this.#lifecycle.checkService('deadLetters');
    return deadLetters;
  }

  find(id: string, options?: FindOptions): Promise<readonly EventDetails[]> {
    return this.#search.find(id, options);
  }

  getRequest(requestId: string): Promise<RequestDetails> {
    return this.#search.request(requestId);
  }

  async getRecent(source: DeadLetterSource): Promise<RecentEventSummaries> {
    const recent = await this.#search.recent(source);
    if (recent.newest.length === 0 && typeof source === 'string') await this.#checkName(source);
    return recent;
  }

  async erase(request: { requestId: string }): Promise<ErasedPayloads> {
    new OptionChecker(request, ['requestId'], 'erase');
    return this.#search.erase(request.requestId);
  }

  async introspect(): Promise<HubIntrospection> {
    return this.#introspector.read(this.#registry.describe(this.transport.service), this.#lifecycle.startedAt);
  }

  async health(): Promise<Health> {
    return computeHealth(await this.introspect());
  }

  waits(): Promise<WaitSummary> {
    return this.#liveState.waits();
  }

  processes(): Promise<readonly ProcessIntrospection[]> {
    return this.#liveState.processes();
  }

  async agentRuns(agent: string): Promise<readonly AgentRunIntrospection[]> {
    checkName(agent, 'agent of agentRuns');
    return this.#liveState.agentRuns(agent);
  }

  async describe(type: string): Promise<EventDescription> {
    const description = await this.#introspector.describe(this.#registry.describe(this.transport.service), type);
    if (description === undefined) await this.#checkEvent(type);
    return description ?? { type, kind: 'declared' };
  }

  async getRange(from: number, to: number): Promise<RangeIntrospection> {
    const check = new OptionChecker({ from, to }, ['from', 'to'], 'getRange');
    check.that(Number.isFinite(from), 'from', 'epoch milliseconds', from);
    check.that(Number.isFinite(to) && to > from, 'to', 'epoch milliseconds later than from', to);
    return this.#introspector.range(this.#registry.describe(this.transport.service), from, to);
  }

  async revision(type?: string): Promise<string> {
    if (type !== undefined && typeof type !== 'string')
      throw new InvalidOptionError('type of revision', 'a string', type);
    // Without near names: the dashboard asks for any type that a request names.
    if (type !== undefined && !(await this.#isEvent(type))) throw new UnknownEventError(type, []);
    const revision = await this.transport.counts.revision(type);
    // Registrations change only before start, the usage of agents at any time.
    const registered = this.#lifecycle.startedAt === null ? this.#registry.size : 'started';
    const agents = type === undefined ? this.#registry.agentsRevision() : 0;
    return `${this.hubId}.${registered}.${agents}.${revision}`;
  }

  async #isEvent(type: string): Promise<boolean> {
    return this.#registry.hasEvent(type) || (await this.#introspector.names()).events.has(type);
  }

  /** @throws {UnknownEventError} unless this or another running hub of the transport registered the type */
  async #checkEvent(type: string): Promise<void> {
    if (this.#registry.hasEvent(type)) return;
    checkEventName(type, this.#registry, await this.#introspector.names());
  }

  /** @throws {UnknownEventError} unless this or another running hub registered an event or a workflow of this name */
  async #checkName(name: string): Promise<void> {
    if (this.#registry.hasWorkflow(name) || (await this.#introspector.names()).workflows.has(name)) return;
    await this.#checkEvent(name);
  }
}

/** Reads a run with what introspection shows. */
function readRun(
  runs: RunStore,
  type: string,
  id: string,
  { outputs = false }: RunQuery,
  service?: string,
): Promise<RunRecord | undefined> {
  return outputs ? runs.get(type, id, service) : runs.getSince(type, id, 0, service);
}

/**
 * Checks that a running hub registered an event type. The error names near types of all hubs, because a read-only hub
 * has none itself.
 *
 * @param running names that running hubs registered
 * @throws {UnknownEventError | InvalidOptionError}
 */
function checkEventName(type: string, registry: Registry, running: RegisteredNames): void {
  if (running.events.has(type)) return;
  if (registry.hasWorkflow(type) || running.workflows.has(type)) {
    const hint = 'it is the name of a workflow: hub.introspect() returns the counts and runs of workflows';
    throw new UnknownEventError(type, [], undefined, hint);
  }
  if (running.events.size === 0 || typeof type !== 'string') registry.eventOfType(type);
  const known = new Set([...[...registry.events].map((event) => event.type), ...running.events]);
  throw new UnknownEventError(type, nearestNames(type, known));
}
