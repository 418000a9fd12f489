import { randomUUID } from 'node:crypto';
import { InvalidOptionError } from '../errors.js';
import { checkName, OptionChecker } from '../options.js';
import type { Redactor } from '../redaction.js';
import { workflowType } from '../transports/delivery.js';
import type { ErasedPayloads, RunRecord } from '../transports/event-record.js';
import type { EventMetrics, FailureRecord } from '../transports/statistics/stats.js';
import type { Logger, RunStore, StoredSchedule, TransportManager } from '../transports/transport.js';
import { UnknownEventError, UnknownEventIdError, UnknownRunError, UnknownTargetError } from './errors.js';
import type { EventRef, WorkflowRef } from './events/emit.js';
import { TagIndex } from './events/tags.js';
import { isStored } from './hub-schedules.js';
import {
  type DeadLetter,
  type DeadLetterOptions,
  type DeadLetterSource,
  readDeadLetters,
  typesOf,
} from './introspection/dead-letters.js';
import { type ErrorGroup, ErrorGroups, type ErrorGroupsParts } from './introspection/error-groups.js';
import {
  type EventDetails,
  EventSearch,
  type FindOptions,
  type RecentEventSummaries,
  type RequestDetails,
} from './introspection/event-search.js';
import {
  type Backlog,
  type ExplainedFleet,
  type Explanation,
  explainEvent,
  readBacklog,
} from './introspection/explain.js';
import { computeHealth, type Health, type HealthOptions, type Readiness } from './introspection/health.js';
import { type EventDescription, isRunning } from './introspection/hub-description.js';
import type { HubIntrospection, RangeIntrospection } from './introspection/introspection.js';
import { Introspector, type RegisteredNames } from './introspection/introspector.js';
import { Invocations } from './introspection/invocations.js';
import { type AgentRunIntrospection, LiveState, type WaitSummary } from './introspection/live-state.js';
import { type LostProcess, ProcessRoster } from './introspection/process-roster.js';
import type { ProcessIntrospection } from './introspection/process-state.js';
import { Releases } from './introspection/releases.js';
import { listRuns, type RunList, type RunListQuery } from './introspection/run-list.js';
import { type SearchQuery, type SearchResult, searchEvents } from './introspection/tag-search.js';
import { readWorkflowRuns, type WorkflowRuns } from './introspection/workflow-runs.js';
import { WorkflowServices } from './introspection/workflow-services.js';
import type { Lifecycle } from './lifecycle.js';
import { type AgentSpend, readAgentSpend, type SpendOptions } from './limits/spend-limit.js';
import { nearestNames } from './nearest-names.js';
import {
  type ActionOptions,
  type AuditEntry,
  type AuditOptions,
  actionOptionNames,
  audited,
  checkActor,
  readAudit,
} from './operate/audit.js';
import { type NamedTarget, type Pause, Pauses } from './pauses.js';
import { type Registry, workflowName } from './registry.js';
import { definedContract, type WorkflowContract } from './runs/define-workflow.js';
import { introspectRun, type RunIntrospection, type RunQuery } from './runs/run-introspection.js';
import type { ScheduleIntrospection } from './schedules/schedule-introspection.js';

/** Time within which the transport of a hub that is ready answers. */
const answerMs = 5_000;

/** The methods of a hub that read: counts, events, runs and health, most of them of all hubs of the transport. */
export class HubReader {
  readonly transport: TransportManager;
  readonly logger: Logger;
  protected readonly services: WorkflowServices;
  readonly #redactor: Redactor;
  readonly #registry: Registry;
  readonly #lifecycle: Lifecycle;
  readonly #introspector: Introspector;
  readonly #search: EventSearch;
  readonly #tags: TagIndex;
  readonly #liveState: LiveState;
  protected readonly pausing: Pauses;
  protected readonly errorCounter: ErrorGroups;
  protected readonly releases: Releases;
  protected readonly roster: ProcessRoster;
  protected readonly invocations: Invocations;
  /** The hub handles events or schedules. */
  protected isConsumer = false;
  /** Id of the hub among all hubs of the transport. */
  protected readonly hubId: string = randomUUID().slice(0, 8);

  constructor(
    transport: TransportManager,
    { redactor, logger, release }: Pick<ErrorGroupsParts, 'redactor' | 'logger' | 'release'>,
    registry: Registry,
    lifecycle: Lifecycle,
  ) {
    this.transport = transport;
    this.logger = logger;
    this.pausing = new Pauses({ transport, redactor, logger });
    this.errorCounter = new ErrorGroups({ transport, redactor, logger, release });
    this.releases = new Releases({ transport, logger, release });
    this.invocations = new Invocations({ transport, logger });
    this.services = new WorkflowServices(transport);
    this.#redactor = redactor;
    this.#registry = registry;
    this.#lifecycle = lifecycle;
    this.#search = new EventSearch(transport, redactor, (workflow) =>
      this.#introspector.stepsOf(this.#registry.describe(transport.service), workflow),
    );
    this.#tags = new TagIndex(transport.log);
    this.#liveState = new LiveState(transport, redactor, () =>
      this.#introspector.cluster(this.#registry.describe(transport.service)),
    );
    const processes = (): Promise<readonly ProcessIntrospection[]> => this.#liveState.processes();
    this.roster = new ProcessRoster({ transport, logger, hubId: this.hubId, processes });
    const { releases, roster, invocations } = this;
    this.#introspector = new Introspector(transport, redactor, { releases, roster, invocations });
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

  async errorGroups(source?: DeadLetterSource): Promise<readonly ErrorGroup[]> {
    const types = source === undefined ? await this.#types() : typesOf(source);
    const groups = await this.errorCounter.read(types, await this.transport.counts.get(types));
    if (groups.length === 0 && typeof source === 'string') await this.#checkName(source);
    return groups;
  }

  /** Returns the types of the events and workflows that have tags. */
  async #taggedTypes(): Promise<readonly string[]> {
    const { events, workflows } = await this.#introspector.cluster(this.#registry.describe(this.service));
    return [
      ...events.flatMap(({ description }) => (description.hasTags === true ? description.type : [])),
      ...workflows.flatMap(({ description }) => (description.hasTags === true ? workflowType(description.name) : [])),
    ];
  }

  /** Returns the types of all events and workflows. */
  async #types(): Promise<readonly string[]> {
    return (await this.#introspector.cluster(this.#registry.describe(this.service))).types;
  }

  async deadLetters<TPayload>(
    source: DeadLetterSource<TPayload>,
    options: DeadLetterOptions = {},
  ): Promise<readonly DeadLetter<TPayload>[]> {
    const deadLetters = await readDeadLetters(source, options, this.transport, this.#redactor);
    // Checked only if there are none: dead letters may exist for a name that is no longer registered.
    if (deadLetters.length === 0 && typeof source === 'string') await this.#checkName(source);
    if (deadLetters.length === 0 && options.service === undefined) this.#lifecycle.checkService('deadLetters');
    return deadLetters;
  }

  find(id: string, options?: FindOptions): Promise<readonly EventDetails[]> {
    return this.#search.find(id, options);
  }

  async explain(id: string): Promise<Explanation> {
    checkName(id, 'id of explain');
    const found = await explainEvent(id, this.transport, this.#redactor, () => this.#explainedFleet());
    if (found === undefined) throw new UnknownEventIdError(id);
    return found;
  }

  async backlog(source: DeadLetterSource): Promise<Backlog> {
    const types = typesOf(source);
    const counts = await this.transport.counts.get(types);
    const known = types.filter((_, index) => (counts[index]?.services.length ?? 0) > 0);
    const [type = ''] = known.length === 0 ? types : known;
    if (known.length === 0 && typeof source === 'string') await this.#checkName(source);
    return readBacklog(type, this.transport, () => this.#explainedFleet());
  }

  async #explainedFleet(): Promise<ExplainedFleet> {
    const reading = this.#introspector.hubs();
    const [hubs, processes, pauses, releases] = await Promise.all([
      reading,
      this.#liveState.processes(),
      this.pausing.current(),
      this.releases.read(reading.then((found) => found.filter(isRunning))),
    ]);
    return { hubs, processes, pauses, releases };
  }

  async search(query: SearchQuery): Promise<SearchResult> {
    const { lookup } = this.transport;
    return searchEvents(query, { index: this.#tags, types: await this.#taggedTypes(), lookup, events: this.#search });
  }

  getRequest(requestId: string): Promise<RequestDetails> {
    return this.#search.request(requestId);
  }

  async getRecent(source: DeadLetterSource): Promise<RecentEventSummaries> {
    const recent = await this.#search.recent(source);
    if (recent.newest.length === 0 && typeof source === 'string') await this.#checkName(source);
    return recent;
  }

  async erase(request: { requestId: string }, options: ActionOptions = {}): Promise<ErasedPayloads> {
    new OptionChecker(request, ['requestId'], 'erase');
    checkActor(new OptionChecker(options, actionOptionNames, 'erase'), options);
    const { requestId } = request;
    checkName(requestId, 'requestId of erase');
    return audited(this, 'erase', { requestId }, options, async () => {
      // First, because a process without the codec of the store cannot: it then erases nothing.
      await this.#tags.erase(requestId, await this.#taggedTypes());
      const erased = await this.transport.lookup.erase(requestId);
      await this.errorCounter.erase(requestId, await this.#types());
      return erased;
    });
  }

  audit(options?: AuditOptions): Promise<readonly AuditEntry[]> {
    return readAudit(this.transport.log, this.#redactor, options);
  }

  /** Describes schedules that were set at run time, without those that cannot be read. */
  protected introspectStored(schedules: readonly StoredSchedule[]): Promise<readonly ScheduleIntrospection[]> {
    return this.#introspector.stored(schedules, this.pausing.current());
  }

  async introspect(): Promise<HubIntrospection> {
    const own = this.#registry.describe(this.transport.service);
    return this.#introspector.read(own, this.#lifecycle.startedAt, this.pausing.current());
  }

  async health(options: HealthOptions = {}): Promise<Health> {
    const check = new OptionChecker(options, ['service'], 'health');
    const { service } = options;
    if (service === undefined) return computeHealth(await this.introspect());
    check.name('service', service);
    const own = this.#registry.describe(this.transport.service);
    const { startedAt } = this.#lifecycle;
    return computeHealth(await this.#introspector.readService(own, service, startedAt, this.pausing.current()));
  }

  async ready(): Promise<Readiness> {
    const problem = this.#lifecycle.unreadiness ?? (await this.#connectionProblem());
    // The hub may have begun to drain meanwhile.
    const reason = this.#lifecycle.unreadiness ?? problem;
    return reason === undefined ? { isReady: true } : { isReady: false, reason };
  }

  /** Returns the reason for which a hub that runs receives no events. */
  async #connectionProblem(): Promise<Readiness['reason']> {
    const signal = AbortSignal.timeout(answerMs);
    const silent = new Promise<undefined>((resolve) => {
      signal.addEventListener('abort', () => resolve(undefined), { once: true });
    });
    const all = await Promise.race([this.#liveState.processes().catch(() => undefined), silent]);
    if (all === undefined) return 'transport-silent';
    return !this.isConsumer || all.some(({ id }) => id === this.hubId) ? undefined : 'not-consuming';
  }

  pauses(): Promise<readonly Pause[]> {
    return this.pausing.current();
  }

  waits(): Promise<WaitSummary> {
    return this.#liveState.waits();
  }

  processes(): Promise<readonly ProcessIntrospection[]> {
    return this.#liveState.processes();
  }

  lostProcesses(): Promise<readonly LostProcess[]> {
    return this.roster.lost();
  }

  async spend(options: SpendOptions = {}): Promise<readonly AgentSpend[]> {
    const { agents } = await this.#introspector.cluster(this.#registry.describe(this.transport.service));
    return readAgentSpend(agents, this.transport.kv, options);
  }

  async agentRuns(agent: string): Promise<readonly AgentRunIntrospection[]> {
    checkName(agent, 'agent of agentRuns');
    return this.#liveState.agentRuns(agent);
  }

  workflowRuns(workflow: string): Promise<WorkflowRuns> {
    const listed = this.#introspector.stepsOf(this.#registry.describe(this.transport.service), workflow);
    return readWorkflowRuns(workflow, listed, this.transport, this.#redactor);
  }

  async listRuns(
    source: WorkflowRef<never> | EventRef<never, unknown> | string,
    query: RunListQuery = {},
  ): Promise<RunList> {
    const name = typeof source === 'object' && source !== null && 'type' in source ? source.type : workflowName(source);
    checkName(name, 'source of listRuns');
    const listed = this.#introspector.stepsOf(this.#registry.describe(this.transport.service), name);
    // The name of a workflow comes first, as in getRun.
    const isEvent = !this.#registry.hasWorkflow(name) && (await this.#isEvent(name));
    return listRuns(isEvent ? name : workflowType(name), query, listed, this.transport, this.#redactor);
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
    // Registrations change only before start, the usage of agents and the invocations of workflows at any time.
    const registered = this.#lifecycle.startedAt === null ? this.#registry.size : 'started';
    const agents = type === undefined ? this.#registry.agentsRevision() : 0;
    const invocations = type === undefined ? this.invocations.revision : 0;
    await this.pausing.current();
    const errors = type === undefined ? 0 : await this.errorCounter.revision(type);
    const lost = type === undefined ? await this.#lostRevision() : 0;
    return `${this.hubId}.${registered}.${agents}.${invocations}.${this.pausing.revision}.${errors}.${lost}.${revision}`;
  }

  async #lostRevision(): Promise<string> {
    const lost = await this.roster.recentlyLost();
    return `${lost.length}-${lost[0]?.lostAt ?? 0}`;
  }

  /** Notes the start of the process's release. */
  protected async openRelease(): Promise<void> {
    await this.releases.open((await this.#introspector.hubs()).filter(isRunning));
  }

  /** @throws {UnknownTargetError} unless this or another hub of the transport registered the target */
  protected async checkTarget({ kind, name }: NamedTarget): Promise<void> {
    const known = await this.#introspector.targets(this.#registry.describe(this.service), kind);
    if (known.has(name) || (kind === 'schedule' && (await isStored(name, this.transport.schedules)))) return;
    throw new UnknownTargetError(kind, name, nearestNames(name, known));
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
