import { setMaxListeners } from 'node:events';
import { InvalidOptionError, quote } from '../errors.js';
import { checkName, OptionChecker } from '../options.js';
import type { Redactor } from '../redaction.js';
import { loadOpenTelemetry } from '../telemetry.js';
import type { ErasedPayloads } from '../transports/event-record.js';
import type { Envelope, Logger, TransportManager } from '../transports/transport.js';
import { cancelEvent } from './cancel-event.js';
import { HubStoppedError, UnknownDeadLetterError } from './errors.js';
import type {
  Cause,
  Draft,
  Emit,
  EmitMany,
  EmitManyOptions,
  EmitOptions,
  EventRef,
  WorkflowRef,
} from './events/emit.js';
import {
  checkSettings,
  definitionConfig,
  type EventConfig,
  type RegisteredEvent,
  resolveEvent,
} from './events/event.js';
import type { AgentReporter } from './events/reported-agents.js';
import type { Hub, HubOptions, StopResult } from './hub.js';
import { type HubSettings, resolveHubOptions } from './hub-options.js';
import { HubReader } from './hub-reader.js';
import { warnOfDifferingSettings } from './introspection/differing-settings.js';
import { processDescriber } from './introspection/live-state.js';
import { Lifecycle, resolveDrainMs } from './lifecycle.js';
import { observeCounts } from './observability.js';
import { type FollowUpHost, Publisher, prepareFollowUps } from './publisher.js';
import { Registry } from './registry.js';
import type { RunHost } from './runs/requested-step.js';
import { checkWatchOptions, type RunEvent, type RunSource, type WatchOptions, watchRun } from './runs/watch-run.js';
import { type AnyWorkflow, isWorkflow } from './runs/workflow.js';
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

class HubRuntime implements Hub {
  readonly transport: TransportManager;
  readonly logger: Logger;
  readonly #host: HubHost;
  readonly #registry = new Registry();
  readonly #reader: HubReader;
  readonly #publisher: Publisher;
  readonly #allowCycles: boolean;
  readonly #concurrency: number;
  readonly #stopped = new AbortController();
  readonly #lifecycle: Lifecycle;
  #starting: Promise<void> | undefined;
  #stopping: Promise<StopResult> | undefined;
  #scheduler: Scheduler | undefined;
  #stopObserving = (): void => {};
  #runSources: readonly RunSource[] = [];

  constructor(transport: TransportManager, settings: Omit<HubSettings, 'service' | 'transport'>) {
    this.transport = transport;
    this.logger = settings.logger;
    this.#publisher = new Publisher(transport, this.#registry, settings);
    this.#host = new HubHost(transport, settings, this.#registry, this.#publisher);
    this.#allowCycles = settings.allowCycles;
    this.#lifecycle = new Lifecycle(settings);
    this.#reader = new HubReader(transport, settings.redactor, this.#registry, this.#lifecycle);
    this.#concurrency = settings.concurrency;
    // Each pending result() adds a listener.
    setMaxListeners(0, this.#stopped.signal);
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
      this.#lifecycle.startedAt = this.transport.clock.now();
      this.#lifecycle.state = 'running';
      void warnOfDifferingSettings(this.#registry.describe(this.service), this.transport.fleet, this.logger);
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

  readonly getRun: Hub['getRun'] = (source, id, options) => this.#reader.run(source, id, options);
  readonly metrics: Hub['metrics'] = (type) => this.#reader.metrics(type);
  readonly failures: Hub['failures'] = (type) => this.#reader.failures(type);
  readonly deadLetters: Hub['deadLetters'] = (source, options) => this.#reader.deadLetters(source, options);
  readonly find: Hub['find'] = (id, options) => this.#reader.find(id, options);
  readonly getRequest: Hub['getRequest'] = (requestId) => this.#reader.request(requestId);
  readonly getRecent: Hub['getRecent'] = (source) => this.#reader.recent(source);
  readonly introspect: Hub['introspect'] = () => this.#reader.introspect();
  readonly health: Hub['health'] = () => this.#reader.health();
  readonly waits: Hub['waits'] = () => this.#reader.waits();
  readonly processes: Hub['processes'] = () => this.#reader.processes();
  readonly agentRuns: Hub['agentRuns'] = (agent) => this.#reader.agentRuns(agent);
  readonly describe: Hub['describe'] = (type) => this.#reader.describe(type);
  readonly getRange: Hub['getRange'] = (from, to) => this.#reader.range(from, to);
  readonly revision: Hub['revision'] = (type) => this.#reader.revision(type);

  readonly emit: Emit = async (target: EventRef<never, unknown> | string, payload: unknown, options?: EmitOptions) => {
    this.#checkAccepting('emit', options);
    let draft = this.#publisher.draft(this.#registry.event(target), payload, options);
    if (draft instanceof Promise) {
      draft = await draft;
      // An asynchronous schema may have taken its time.
      this.#checkAccepting('emit', options);
    }
    const receipt = this.#publisher.send(draft);
    return receipt instanceof Promise ? await receipt : receipt;
  };

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
    return cancelEvent(id, this.#registry, this.#host, (followUps) => {
      const prepared = this.#host.prepareFollowUps(followUps);
      // The transport waits for no schema while it cancels.
      return prepared instanceof Promise ? followUps : prepared;
    });
  }

  async startWorkflow<TInput, TResult>(
    target: WorkflowRef<TInput, TResult> | string,
    input: unknown,
    options: EmitOptions = {},
  ): Promise<WorkflowHandle<TResult>> {
    this.#checkAccepting('startWorkflow', options);
    const workflow = this.#registry.workflow(target);
    const draft = await this.#publisher.draftRun(workflow, input, options);
    this.#checkAccepting('startWorkflow', options);
    const { id } = await this.#publisher.send(draft);
    return createWorkflowHandle(workflow, id, this.#host, this.#stopped.signal);
  }

  watch(runId: string, options: WatchOptions = {}): AsyncIterable<RunEvent> {
    checkName(runId, 'runId of watch');
    checkWatchOptions(options);
    this.#lifecycle.checkRunning('watch');
    const { redactor } = this.#host;
    return watchRun(
      runId,
      { runs: this.transport.runs, redactor, sources: this.#runSources, stopped: this.#stopped.signal },
      options,
    );
  }

  async erase(request: { requestId: string }): Promise<ErasedPayloads> {
    new OptionChecker(request, ['requestId'], 'erase');
    return this.#reader.erase(request.requestId);
  }

  async replay(id: string): Promise<{ readonly id: string }> {
    this.#lifecycle.checkRunning('replay');
    checkName(id, 'id of replay');
    if (!(await this.transport.deadLetters.replay(id))) throw new UnknownDeadLetterError(id, this.service);
    return { id };
  }

  /** A handler that still runs may emit while the hub drains. */
  #checkAccepting(operation: string, options: Pick<EmitOptions, 'cause'> | undefined): void {
    // The options may be wrong: they are checked together with the payload.
    if (options?.cause === undefined) this.#lifecycle.checkEmitting(operation);
    else this.#lifecycle.checkNotStopped(operation);
  }

  async #consume(): Promise<void> {
    await loadOpenTelemetry();
    const scheduler = new Scheduler(this.#registry.schedules, this.#host);
    await scheduler.check();
    const { subscriptions, declared, onDelivery, runSources } = createSubscriptions(this.#registry, this.#host);
    this.#runSources = runSources;
    await this.transport.start({
      concurrency: this.#concurrency,
      subscriptions,
      declared,
      onDelivery: (delivery) => {
        this.#lifecycle.markConsuming();
        onDelivery(delivery);
      },
      describe: () => this.#registry.descriptionOf(this.service),
      describeProcess: processDescriber(this.#reader.hubId, this.#concurrency, () => this.transport.clock.now()),
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
}

/** The part of a hub that its handlers, runs and schedules use. */
class HubHost implements RunHost, ScheduleHost, FollowUpHost {
  readonly transport: TransportManager;
  readonly logger: Logger;
  readonly maxPayloadBytes: number;
  readonly redactor: Redactor;
  readonly reportedAgents: AgentReporter;
  readonly #registry: Registry;
  readonly #publisher: Publisher;

  constructor(
    transport: TransportManager,
    { logger, maxPayloadBytes, redactor }: Pick<HubSettings, 'logger' | 'maxPayloadBytes' | 'redactor'>,
    registry: Registry,
    publisher: Publisher,
  ) {
    this.transport = transport;
    this.logger = logger;
    this.maxPayloadBytes = maxPayloadBytes;
    this.redactor = redactor;
    this.reportedAgents = registry.reportedAgents;
    this.#registry = registry;
    this.#publisher = publisher;
  }

  eventType(event: EventRef<never, unknown> | string): string {
    return this.#registry.event(event).type;
  }

  findEvent(type: string): RegisteredEvent | undefined {
    return this.#registry.findEvent(type);
  }

  findWorkflow(workflow: WorkflowRef<never> | string): AnyWorkflow {
    return this.#registry.workflow(workflow);
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

  prepareFollowUps(envelopes: readonly Envelope[]): readonly Envelope[] | Promise<readonly Envelope[]> {
    return prepareFollowUps(envelopes, this);
  }

  prepareScheduled(schedule: RegisteredSchedule, dueAt: number): Promise<Envelope> {
    const { name, payload } = schedule;
    const target = this.#registry.targetOf(schedule);
    const value: unknown = typeof payload === 'function' ? payload(new Date(dueAt)) : payload;
    return this.#publisher.prepareScheduled(name, dueAt, target, value);
  }
}
