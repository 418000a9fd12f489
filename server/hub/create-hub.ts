import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { InvalidOptionError, quote } from '../errors.js';
import { checkName, OptionChecker } from '../options.js';
import type { Redactor } from '../redactor.js';
import { loadOpenTelemetry } from '../telemetry/open-telemetry.js';
import type { ErasedPayloads } from '../transports/event-record.js';
import type { Logger } from '../transports/logger.js';
import type { EventMetrics, FailureRecord } from '../transports/statistics/stats.js';
import type { Envelope, TransportManager } from '../transports/transport.js';
import { workflowType } from '../transports/workflow-type.js';
import { cancelEvent } from './cancel-event.js';
import { checkEventName } from './check-event-name.js';
import { HubStoppedError, UnknownDeadLetterError, UnknownEventError, UnknownRunError } from './errors.js';
import type { Cause, Draft } from './events/attempts/attempt-emitter.js';
import type { HandlerHost } from './events/attempts/outcome-recorder.js';
import { checkSettings, definitionConfig } from './events/create-event.js';
import {
  type DeadLetter,
  type DeadLetterOptions,
  type DeadLetterSource,
  readDeadLetters,
} from './events/dead-letters.js';
import type { Emit, EmitMany, EmitManyOptions, EmitOptions } from './events/emit.js';
import { type EventConfig, type RegisteredEvent, resolveEvent } from './events/event.js';
import type { EventRef } from './events/event-ref.js';
import { type FollowUpHost, prepareFollowUps } from './events/prepare-follow-ups.js';
import type { Hub, HubOptions, StopResult } from './hub.js';
import { type HubSettings, resolveHubOptions } from './hub-options.js';
import type { AgentRunIntrospection } from './introspection/agent-runs.js';
import { warnOfDifferingSettings } from './introspection/differing-settings.js';
import type { EventDetails, RequestDetails } from './introspection/event-details.js';
import { EventSearch, type FindOptions, type RecentEventSummaries } from './introspection/event-search.js';
import { computeHealth, type Health } from './introspection/health.js';
import type { EventDescription } from './introspection/hub-description.js';
import type { HubIntrospection, RangeIntrospection } from './introspection/introspection.js';
import { Introspector } from './introspection/introspector.js';
import { LiveState } from './introspection/live-state.js';
import { type ProcessIntrospection, processDescriber } from './introspection/process-introspection.js';
import type { AgentReporter } from './introspection/reported-agents.js';
import { introspectRun, type RunIntrospection, type RunQuery } from './introspection/run-introspection.js';
import type { WaitsIntrospection } from './introspection/wait-introspection.js';
import { Lifecycle, resolveDrainMs } from './lifecycle.js';
import { observeCounts } from './observability/observe-counts.js';
import { Publisher } from './publisher.js';
import { Registry } from './registry.js';
import { type AnyWorkflow, isWorkflow } from './runs/definition/workflow.js';
import type { WorkflowRef } from './runs/definition/workflow-ref.js';
import { checkWatchOptions, type RunEvent, type RunSource, type WatchOptions, watchRun } from './runs/watch-run.js';
import { createWorkflowHandle, type WorkflowHandle } from './runs/workflow-handle.js';
import { type RegisteredSchedule, resolveSchedule, type ScheduleConfig } from './schedules/schedule.js';
import { type ScheduleHost, Scheduler } from './schedules/scheduler.js';
import { createSubscriptions } from './subscriptions.js';

/**
 * Creates a hub. Register events on it, then call `start`, then `emit`.
 *
 * @example
 * ```ts
 * const hub = createHub();
 * const greeted = hub.event<{ name: string }>({ type: 'greeted', handler: ({ payload }) => console.log(payload.name) });
 * await hub.start();
 * await hub.emit(greeted, { name: 'Ada' });
 * await hub.stop();
 * ```
 * @throws {InvalidOptionError}
 */
export function createHub(options: HubOptions = {}): Hub {
  const { service, transport, ...settings } = resolveHubOptions(options);
  return new HubRuntime(transport.connect({ service, logger: settings.logger }), settings);
}

class HubRuntime implements Hub, HandlerHost, ScheduleHost, FollowUpHost {
  readonly transport: TransportManager;
  readonly logger: Logger;
  readonly maxPayloadBytes: number;
  readonly redactor: Redactor;
  readonly #registry = new Registry();
  readonly #introspector: Introspector;
  readonly #search: EventSearch;
  readonly #liveState: LiveState;
  readonly #publisher: Publisher;
  readonly #id = randomUUID().slice(0, 8);
  readonly #allowCycles: boolean;
  readonly #concurrency: number;
  readonly #stopped = new AbortController();
  readonly #lifecycle: Lifecycle;
  #startedAt: number | null = null;
  #starting: Promise<void> | undefined;
  #stopping: Promise<StopResult> | undefined;
  #scheduler: Scheduler | undefined;
  #stopObserving = (): void => {};
  #runSources: readonly RunSource[] = [];

  constructor(transport: TransportManager, settings: Omit<HubSettings, 'service' | 'transport'>) {
    this.transport = transport;
    this.logger = settings.logger;
    this.maxPayloadBytes = settings.maxPayloadBytes;
    this.redactor = settings.redactor;
    this.#introspector = new Introspector(transport, settings.redactor);
    this.#publisher = new Publisher(transport, this.#registry, settings);
    this.#search = new EventSearch(transport, settings.redactor, (workflow) =>
      this.#introspector.stepsOf(this.#registry.describe(this.service), workflow),
    );
    this.#liveState = new LiveState(transport, settings.redactor, () =>
      this.#introspector.cluster(this.#registry.describe(this.service)),
    );
    this.#allowCycles = settings.allowCycles;
    this.#lifecycle = new Lifecycle(settings);
    this.#concurrency = settings.concurrency;
    // Each pending result() adds a listener.
    setMaxListeners(0, this.#stopped.signal);
  }

  get reportedAgents(): AgentReporter {
    return this.#registry.reportedAgents;
  }

  get service(): string {
    return this.transport.service;
  }

  // The overloads of Hub.event ensure that a payload has the type that handler and key declare.
  event(config: object, settings?: object): never {
    const definition = definitionConfig(config);
    if (definition !== undefined) checkSettings(definition.type, settings);
    const event = resolveEvent((definition === undefined ? config : { ...settings, ...definition }) as EventConfig);
    this.#lifecycle.checkRegistering(`event ${quote(event.type)} registered`);
    this.#registry.addEvent(event);
    return (definition === undefined ? { type: event.type } : config) as never;
  }

  schedule<TPayload>(config: ScheduleConfig<TPayload>): void {
    // The target's type and the payload's type agree by ScheduleConfig.
    const schedule = resolveSchedule(config as ScheduleConfig);
    this.#lifecycle.checkRegistering(`schedule ${quote(schedule.name)} registered`);
    this.#registry.addSchedule(schedule);
  }

  workflow<TWorkflow extends AnyWorkflow>(workflow: TWorkflow): TWorkflow {
    if (!isWorkflow(workflow)) throw new InvalidOptionError('hub.workflow', 'the result of createWorkflow', workflow);
    this.#lifecycle.checkRegistering(`workflow ${quote(workflow.name)} registered`);
    this.#registry.addWorkflow(workflow);
    return workflow;
  }

  async start(): Promise<void> {
    this.#lifecycle.checkStart();
    this.#registry.checkChains(this.#allowCycles);
    this.#registry.checkHandlers();
    for (const schedule of this.#registry.schedules) this.#registry.targetOf(schedule);
    this.#lifecycle.state = 'starting';
    this.#starting = this.#consume();
    try {
      await this.#starting;
      this.#startedAt = this.transport.clock.now();
      this.#lifecycle.state = 'running';
      void warnOfDifferingSettings(this.#registry.describe(this.service), this.transport, this.logger);
    } catch (error) {
      this.#lifecycle.state = 'new';
      throw error;
    }
  }

  async stop(options: { drainMs?: number } = {}): Promise<StopResult> {
    const drainMs = resolveDrainMs(options);
    this.#stopping ??= this.#stop(drainMs);
    return this.#stopping;
  }

  readonly emit: Emit = (target: EventRef<never, unknown> | string, payload: unknown, options?: EmitOptions) =>
    this.#publisher.send(
      () => this.#publisher.draft(this.#registry.event(target), payload, options),
      () => this.#checkAccepting('emit', options),
    );

  readonly emitMany: EmitMany = async (
    target: EventRef<never, unknown> | string,
    payloads: readonly unknown[],
    options: EmitManyOptions = {},
  ) => {
    const checkOpen = (): void => this.#checkAccepting('emitMany', options);
    checkOpen();
    return this.#publisher.publishMany(this.#registry.event(target), payloads, options, checkOpen);
  };

  async cancel(id: string): Promise<boolean> {
    this.#lifecycle.checkRunning('cancel');
    checkName(id, 'id of cancel');
    return cancelEvent(id, this.#registry, this, (followUps) => {
      const prepared = this.prepareFollowUps(followUps);
      // The transport waits for no schema while it cancels.
      return prepared instanceof Promise ? followUps : prepared;
    });
  }

  prepareScheduled(schedule: RegisteredSchedule, dueAt: number): Promise<Envelope> {
    const { name, payload } = schedule;
    const target = this.#registry.targetOf(schedule);
    const value: unknown = typeof payload === 'function' ? payload(new Date(dueAt)) : payload;
    return this.#publisher.prepareScheduled(name, dueAt, target, value);
  }

  prepareFollowUps(envelopes: readonly Envelope[]): readonly Envelope[] | Promise<readonly Envelope[]> {
    return prepareFollowUps(envelopes, this);
  }

  findEvent(type: string): RegisteredEvent | undefined {
    return this.#registry.findEvent(type);
  }

  draftEvent(
    cause: Cause,
    target: EventRef<never, unknown> | string,
    payload: unknown,
    options?: EmitOptions,
  ): Draft | Promise<Draft> {
    return this.#publisher.draft(this.#registry.event(target), payload, options, cause);
  }

  draftRun(
    cause: Cause,
    target: WorkflowRef<never> | string,
    input: unknown,
    options?: EmitOptions,
  ): Draft | Promise<Draft> {
    return this.#publisher.draftRun(this.#registry.workflow(target), input, options, cause);
  }

  eventType(event: EventRef<never, unknown> | string): string {
    return this.#registry.event(event).type;
  }

  findWorkflow(workflow: WorkflowRef<never> | string): AnyWorkflow {
    return this.#registry.workflow(workflow);
  }

  async startWorkflow<TInput, TResult>(
    target: WorkflowRef<TInput, TResult> | string,
    input: unknown,
    options: EmitOptions = {},
  ): Promise<WorkflowHandle<TResult>> {
    const checkOpen = (): void => this.#checkAccepting('startWorkflow', options);
    checkOpen();
    const workflow = this.#registry.workflow(target);
    const { id } = await this.#publisher.send(() => this.#publisher.draftRun(workflow, input, options), checkOpen);
    return createWorkflowHandle(workflow, id, this, this.#stopped.signal);
  }

  async run(
    source: WorkflowRef<never> | EventRef<never, unknown> | string,
    id: string,
    options: RunQuery = {},
  ): Promise<RunIntrospection> {
    new OptionChecker(options, ['outputs'], 'run').boolean('outputs', options.outputs);
    const { name, type, steps } = this.#registry.runOf(source);
    const record = await this.transport.run(type, id);
    if (record === undefined) throw new UnknownRunError(name, id);
    return introspectRun(steps, record, this.redactor, options);
  }

  watch(runId: string, options: WatchOptions = {}): AsyncIterable<RunEvent> {
    checkName(runId, 'runId of watch');
    checkWatchOptions(options);
    this.#lifecycle.checkRunning('watch');
    const { transport, redactor } = this;
    return watchRun(runId, { transport, redactor, sources: this.#runSources, stopped: this.#stopped.signal }, options);
  }

  async metrics(type: string): Promise<EventMetrics> {
    await this.#checkEvent(type);
    return this.transport.metrics(type);
  }

  async failures(type: string): Promise<readonly FailureRecord[]> {
    await this.#checkEvent(type);
    return (await this.transport.failures(type)).map(this.redactor.recorded);
  }

  async deadLetters<TPayload>(
    source: DeadLetterSource<TPayload>,
    options: DeadLetterOptions = {},
  ): Promise<readonly DeadLetter<TPayload>[]> {
    const deadLetters = await readDeadLetters(source, options, this.transport, this.redactor);
    // Checked only if there are none: dead letters may exist for a name that is no longer registered.
    if (deadLetters.length === 0 && typeof source === 'string') await this.#checkName(source);
    if (deadLetters.length === 0) this.#lifecycle.checkService('deadLetters');
    return deadLetters;
  }

  find(id: string, options?: FindOptions): Promise<readonly EventDetails[]> {
    return this.#search.find(id, options);
  }

  request(requestId: string): Promise<RequestDetails> {
    return this.#search.request(requestId);
  }

  async recent(source: DeadLetterSource): Promise<RecentEventSummaries> {
    const recent = await this.#search.recent(source);
    if (recent.newest.length === 0 && typeof source === 'string') await this.#checkName(source);
    return recent;
  }

  async erase(request: { requestId: string }): Promise<ErasedPayloads> {
    new OptionChecker(request, ['requestId'], 'erase');
    return this.#search.erase(request.requestId);
  }

  async replay(id: string): Promise<{ readonly id: string }> {
    this.#lifecycle.checkRunning('replay');
    checkName(id, 'id of replay');
    if (!(await this.transport.replay(id))) throw new UnknownDeadLetterError(id, this.service);
    return { id };
  }

  async introspect(): Promise<HubIntrospection> {
    return this.#introspector.read(this.#registry.describe(this.service), this.#startedAt);
  }

  async health(): Promise<Health> {
    return computeHealth(await this.introspect());
  }

  waits(): Promise<WaitsIntrospection> {
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
    const description = await this.#introspector.describe(this.#registry.describe(this.service), type);
    if (description === undefined) await this.#checkEvent(type);
    return description ?? { type, kind: 'declared' };
  }

  async range(from: number, to: number): Promise<RangeIntrospection> {
    const check = new OptionChecker({ from, to }, ['from', 'to'], 'range');
    check.that(Number.isFinite(from), 'from', 'epoch milliseconds', from);
    check.that(Number.isFinite(to) && to > from, 'to', 'epoch milliseconds later than from', to);
    return this.#introspector.range(this.#registry.describe(this.service), from, to);
  }

  async revision(type?: string): Promise<string> {
    // Without near names: the dashboard asks for any type that a request names.
    if (type !== undefined && !(await this.#isEvent(type))) throw new UnknownEventError(type, []);
    const revision = await this.transport.revision(type);
    // Registrations change only before start, the usage of agents at any time.
    const registered = this.#startedAt === null ? this.#registry.size : 'started';
    const agents = type === undefined ? this.#registry.agentsRevision() : 0;
    return `${this.#id}.${registered}.${agents}.${revision}`;
  }

  /** A handler that still runs may emit while the hub drains. */
  #checkAccepting(operation: string, { cause }: Pick<EmitOptions, 'cause'> = {}): void {
    if (cause === undefined) this.#lifecycle.checkEmitting(operation);
    else this.#lifecycle.checkNotStopped(operation);
  }

  async #consume(): Promise<void> {
    await loadOpenTelemetry();
    const scheduler = new Scheduler(this.#registry.schedules, this);
    await scheduler.check();
    const { subscriptions, declared, onDelivery } = createSubscriptions(this.#registry, this);
    const steps = new Map(
      [...this.#registry.workflows].map((workflow) => [workflowType(workflow.name), workflow.steps]),
    );
    this.#runSources = subscriptions
      .filter(({ keepsRuns }) => keepsRuns === true)
      .map(({ type }) => ({ type, listed: steps.get(type) ?? [] }));
    await this.transport.start({
      concurrency: this.#concurrency,
      subscriptions,
      declared,
      onDelivery: (delivery) => {
        this.#lifecycle.markConsuming();
        onDelivery(delivery);
      },
      describe: () => this.#registry.descriptionOf(this.service),
      describeProcess: processDescriber(this.#id, this.#concurrency, () => this.transport.clock.now()),
    });
    this.#stopObserving = observeCounts(
      this.transport,
      subscriptions.map(({ type }) => type),
    );
    this.#scheduler = scheduler;
    try {
      await scheduler.open();
    } catch (error) {
      this.#stopObserving();
      await this.transport.close({ drainMs: 0 });
      throw error;
    }
  }

  async #stop(drainMs: number): Promise<StopResult> {
    if (this.#lifecycle.isStarting) await this.#starting?.catch(() => {}); // the caller of `start` receives it
    this.#lifecycle.state = 'stopping';
    this.#scheduler?.stop();
    this.#stopObserving();
    try {
      return await this.transport.close({ drainMs });
    } finally {
      this.#lifecycle.state = 'stopped';
      this.#stopped.abort(new HubStoppedError('result() of a workflow run was pending'));
    }
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
