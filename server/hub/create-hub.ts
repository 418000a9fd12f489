import { setMaxListeners } from 'node:events';
import { InvalidOptionError, quote } from '../errors.js';
import { checkName } from '../options.js';
import type { Redactor } from '../redaction.js';
import { loadOpenTelemetry } from '../telemetry.js';
import { workflowType } from '../transports/delivery.js';
import type { Logger, TransportManager } from '../transports/transport.js';
import { cancelEvent } from './cancel-event.js';
import { HubStoppedError, UnknownDeadLetterError } from './errors.js';
import type { Emit, EmitMany, EmitManyOptions, EmitOptions, EventRef, WorkflowRef } from './events/emit.js';
import { checkSettings, definitionConfig, type EventConfig, resolveEvent } from './events/event.js';
import type { Hub, HubOptions, StopResult } from './hub.js';
import { type HubSettings, resolveHubOptions } from './hub-options.js';
import { HubReader } from './hub-reader.js';
import { warnOfDifferingSettings } from './introspection/differing-settings.js';
import { processDescriber } from './introspection/live-state.js';
import { Lifecycle, resolveDrainMs } from './lifecycle.js';
import { observeCounts } from './observability.js';
import { Publisher } from './publisher.js';
import { Registry } from './registry.js';
import { checkWatchOptions, type RunEvent, type WatchedType, type WatchOptions, watchRun } from './runs/watch-run.js';
import { type AnyWorkflow, isWorkflow } from './runs/workflow.js';
import { createWorkflowHandle, type WorkflowHandle } from './runs/workflow-handle.js';
import { resolveSchedule, type ScheduleConfig } from './schedules/schedule.js';
import { Scheduler } from './schedules/scheduler.js';
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

class HubRuntime extends HubReader implements Hub {
  readonly logger: Logger;
  readonly #redactor: Redactor;
  readonly #maxPayloadBytes: number;
  readonly #registry: Registry;
  readonly #publisher: Publisher;
  readonly #allowCycles: boolean;
  readonly #concurrency: number;
  readonly #stopped = new AbortController();
  readonly #lifecycle: Lifecycle;
  #starting: Promise<void> | undefined;
  #stopping: Promise<StopResult> | undefined;
  #scheduler: Scheduler | undefined;
  #stopObserving = (): void => {};
  #watchedTypes: readonly WatchedType[] = [];

  constructor(transport: TransportManager, settings: Omit<HubSettings, 'service' | 'transport'>) {
    const registry = new Registry();
    const lifecycle = new Lifecycle(settings);
    super(transport, settings.redactor, registry, lifecycle);
    this.logger = settings.logger;
    this.#redactor = settings.redactor;
    this.#maxPayloadBytes = settings.maxPayloadBytes;
    this.#registry = registry;
    this.#publisher = new Publisher(transport, registry, this.services, settings);
    this.#allowCycles = settings.allowCycles;
    this.#lifecycle = lifecycle;
    this.#concurrency = settings.concurrency;
    // Each pending result() adds a listener.
    setMaxListeners(0, this.#stopped.signal);
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
    const { name, service = this.service } = workflow;
    if (service !== this.service) {
      throw new InvalidOptionError(
        'service of createHub',
        `${quote(service)}, which runs workflow ${quote(name)}`,
        this.service,
      );
    }
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

  readonly emit: Emit = async (target: EventRef<never, unknown> | string, payload: unknown, options?: EmitOptions) => {
    this.#checkAccepting('emit', options);
    let draft = this.#publisher.draft(target, payload, options);
    if (draft instanceof Promise) {
      draft = await draft;
      // An asynchronous schema may have taken its time.
      this.#checkAccepting('emit', options);
    }
    const receipt = this.#publisher.send(draft);
    return receipt instanceof Promise ? await receipt : receipt;
  };

  readonly emitMany: EmitMany = async <T>(
    target: EventRef<T, unknown> | string,
    payloads: readonly T[],
    options: EmitManyOptions<T> = {},
  ) => {
    const checkOpen = (): void => this.#checkAccepting('emitMany', options);
    checkOpen();
    return this.#publisher.publishMany(target, payloads, options, checkOpen);
  };

  async cancel(id: string): Promise<boolean> {
    this.#lifecycle.checkRunning('cancel');
    checkName(id, 'id of cancel');
    const { transport } = this;
    return cancelEvent(id, this.#registry, { transport, redactor: this.#redactor }, (followUps) => {
      const prepared = this.#publisher.prepareFollowUps(followUps);
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
    const draft = await this.#publisher.draftRun(target, input, options);
    this.#checkAccepting('startWorkflow', options);
    const { id } = await this.#publisher.send(draft);
    return this.#handleOf(target, id, draft.service);
  }

  workflowHandle<TResult>(target: WorkflowRef<never, TResult> | string, runId: string): WorkflowHandle<TResult> {
    checkName(runId, 'runId of workflowHandle');
    this.#lifecycle.checkRunning('workflowHandle');
    return this.#handleOf(target, runId, undefined);
  }

  /** @param startedFor service of a run that this hub has started */
  #handleOf<TResult>(
    target: WorkflowRef<never, TResult> | string,
    runId: string,
    startedFor: string | undefined,
  ): WorkflowHandle<TResult> {
    const found = this.#registry.startable(target, this.service);
    // Only a registered workflow is left: the error names it.
    const { contract, registered } = found ?? { contract: this.#registry.workflow(target), registered: undefined };
    const service = startedFor ?? contract.service ?? (registered && this.service);
    const { name: workflow } = contract;
    if (registered === undefined && service !== undefined) this.#watchElsewhere(workflowType(workflow), service);
    const { services } = this;
    const parts = { runs: this.transport.runs, services, redactor: this.#redactor, stopped: this.#stopped.signal };
    return createWorkflowHandle({ workflow, runId, service, registered }, parts);
  }

  #watchElsewhere(type: string, service: string): void {
    const isKnown = this.#watchedTypes.some((known) => known.type === type && known.service === service);
    if (!isKnown) this.#watchedTypes = [...this.#watchedTypes, { type, service, listed: [] }];
  }

  watch(runId: string, options: WatchOptions = {}): AsyncIterable<RunEvent> {
    checkName(runId, 'runId of watch');
    checkWatchOptions(options);
    this.#lifecycle.checkRunning('watch');
    const { runs, lookup } = this.transport;
    const host = { runs, lookup, services: this.services, redactor: this.#redactor };
    return watchRun(runId, { ...host, sources: this.#watchedTypes, stopped: this.#stopped.signal }, options);
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
    const host = {
      transport: this.transport,
      logger: this.logger,
      maxPayloadBytes: this.#maxPayloadBytes,
      redactor: this.#redactor,
      reportedAgents: this.#registry.reportedAgents,
      registry: this.#registry,
      publisher: this.#publisher,
    };
    const scheduler = new Scheduler(this.#registry.schedules, host);
    await scheduler.check();
    const { subscriptions, declared, onDelivery, watchedTypes } = createSubscriptions(this.#registry, host);
    this.#watchedTypes = watchedTypes;
    await this.transport.start({
      concurrency: this.#concurrency,
      subscriptions,
      declared,
      onDelivery: (delivery) => {
        this.#lifecycle.markConsuming();
        onDelivery(delivery);
      },
      describe: () => this.#registry.descriptionOf(this.service),
      describeProcess: processDescriber(this.hubId, this.#concurrency, () => this.transport.clock.now()),
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
