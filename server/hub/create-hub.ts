import { setMaxListeners } from 'node:events';
import { InvalidOptionError, quote } from '../errors.js';
import { checkName, OptionChecker } from '../options.js';
import type { Redactor } from '../redaction.js';
import { loadOpenTelemetry } from '../telemetry.js';
import { refuseReferences } from '../transports/blobs/blob-delivery.js';
import { BlobTransport } from '../transports/blobs/blob-transport.js';
import { workflowOf, workflowType } from '../transports/delivery.js';
import type { Receipt, TransportManager } from '../transports/transport.js';
import { cancelEvent } from './cancel-event.js';
import { HubStoppedError, UnknownDeadLetterError, UnknownRunError } from './errors.js';
import type {
  Emit,
  EmitMany,
  EmitManyOptions,
  EmitOptions,
  EventRef,
  TransactionOption,
  WorkflowRef,
} from './events/emit.js';
import { checkSettings, definitionConfig, type EventConfig, resolveEvent } from './events/event.js';
import type { Hub, ReplayOptions, StopResult } from './hub.js';
import { type HubOptions, type HubSettings, resolveHubOptions } from './hub-options.js';
import { HubReader } from './hub-reader.js';
import { HubSchedules } from './hub-schedules.js';
import { warnOfDifferingSettings } from './introspection/differing-settings.js';
import { processDescriber } from './introspection/process-state.js';
import { Lifecycle, resolveDrainMs } from './lifecycle.js';
import { LimitKeeper } from './limits/limit-keeper.js';
import { observeCounts } from './observability.js';
import { type AlertOptions, Alerts } from './operate/alerts.js';
import { type ActionOptions, actionOptionNames, audited, checkActor } from './operate/audit.js';
import { checkDecision, type DecisionOptions, findApproval } from './operate/decide-approval.js';
import { namedTarget, type PauseOptions, type PauseTarget, type ResumeOptions } from './pauses.js';
import { type ForkSource, Publisher } from './publisher.js';
import { Registry } from './registry.js';
import { checkFork, type ForkOptions, recordedBefore } from './runs/fork.js';
import { checkSend, type SendOptions, sendText, type TextSender } from './runs/sent-texts.js';
import { checkStreamOptions, type StreamEvent, type StreamOptions, streamRun } from './runs/stream-run.js';
import { checkWatchOptions, type RunEvent, type WatchedType, type WatchOptions, watchRun } from './runs/watch-run.js';
import { type AnyWorkflow, isWorkflow } from './runs/workflow.js';
import { createWorkflowHandle, type WorkflowHandle } from './runs/workflow-handle.js';
import { resolveSchedule, type ScheduleConfig } from './schedules/schedule.js';
import { Scheduler } from './schedules/scheduler.js';
import { createSubscriptions } from './subscriptions.js';
import { resolveWork, Workload, type WorkOptions, type WorkResult } from './work.js';

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
  const { logger, blobs: store, blobsAboveBytes: aboveBytes } = settings;
  const connection = transport.connect({ service, logger });
  const manager = store === undefined ? connection : new BlobTransport(connection, { store, aboveBytes, logger });
  return new HubRuntime(manager, settings);
}

class HubRuntime extends HubReader implements Hub {
  readonly #redactor: Redactor;
  readonly #onFailure: HubSettings['onFailure'];
  readonly #maxPayloadBytes: number;
  readonly #hasBlobs: boolean;
  readonly #registry: Registry;
  readonly #publisher: Publisher;
  readonly #allowCycles: boolean;
  readonly #concurrency: number;
  readonly #release: string | undefined;
  readonly #stopped = new AbortController();
  readonly #alerts: Alerts;
  readonly schedules: HubSchedules;
  readonly #lifecycle: Lifecycle;
  #starting: Promise<void> | undefined;
  #stopping: Promise<StopResult> | undefined;
  #scheduler: Scheduler | undefined;
  /** Set while `work` starts the hub. */
  #workload: Workload | undefined;
  #stopObserving = (): void => {};
  #flushBatches = (): void => {};
  #watchedTypes: readonly WatchedType[] = [];

  constructor(transport: TransportManager, settings: Omit<HubSettings, 'service' | 'transport'>) {
    const registry = new Registry(settings.release);
    const lifecycle = new Lifecycle(settings);
    super(transport, settings, registry, lifecycle);
    this.#redactor = settings.redactor;
    this.#onFailure = settings.onFailure;
    this.#maxPayloadBytes = settings.maxPayloadBytes;
    this.#hasBlobs = settings.blobs !== undefined;
    this.#registry = registry;
    this.#publisher = new Publisher(transport, registry, this.services, settings);
    this.#alerts = new Alerts({ transport, logger: settings.logger, hubId: this.hubId, health: () => this.health() });
    this.schedules = new HubSchedules({
      ...{ transport, publisher: this.#publisher, registry, lifecycle },
      introspectOwn: async () => (await this.introspect()).schedules.filter(({ storedId }) => storedId === undefined),
      introspectStored: (schedules) => this.introspectStored(schedules),
      find: (id) => this.find(id),
    });
    this.#allowCycles = settings.allowCycles;
    this.#lifecycle = lifecycle;
    this.#concurrency = settings.concurrency;
    this.#release = settings.release;
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
      this.#alerts.open();
      void warnOfDifferingSettings(this.#registry.describe(this.service), this.transport.fleet, this.logger);
    } catch (error) {
      this.#lifecycle.state = 'new';
      throw error;
    }
  }

  async work(options: WorkOptions): Promise<WorkResult> {
    this.#lifecycle.checkRegistering('work() called');
    const settings = resolveWork(options);
    const workload = new Workload();
    this.#workload = workload;
    try {
      await this.start();
    } finally {
      this.#workload = undefined;
    }
    const endedBy = await workload.ended(settings, {
      transport: this.transport,
      logger: this.logger,
      types: this.#registry.handledTypes,
      isHeld: (type) => this.pausing.holds(type),
      isClaiming: () => this.#scheduler?.isClaiming === true,
      stopped: this.#stopped.signal,
    });
    const stopped = await this.stop({ drainMs: settings.drainMs });
    return { ...workload.counts, ...stopped, endedBy };
  }

  async stop(options: { drainMs?: number } = {}): Promise<StopResult> {
    const drainMs = resolveDrainMs(options);
    this.#stopping ??= this.#stop(drainMs);
    return this.#stopping;
  }

  readonly emit: Emit = async (
    target: EventRef<never, unknown> | string,
    payload: unknown,
    options?: EmitOptions & Partial<TransactionOption>,
  ): Promise<Receipt> => {
    this.#checkAccepting('emit', options);
    let draft = this.#publisher.draft(target, payload, options);
    if (draft instanceof Promise) {
      draft = await draft;
      // An asynchronous schema may have taken its time.
      this.#checkAccepting('emit', options);
    }
    // The overload with `tx` resolves with the id alone.
    if (options?.tx !== undefined) return (await this.#publisher.sendWithin(draft, options.tx)) as Receipt;
    const { nextTurn } = this.#publisher;
    if (nextTurn !== undefined) await nextTurn;
    const receipt = this.#publisher.send(draft);
    return receipt instanceof Promise ? await receipt : receipt;
  };

  readonly emitMany: EmitMany = async <T>(
    target: EventRef<T, unknown> | string,
    payloads: readonly T[],
    options: EmitManyOptions<T> & Partial<TransactionOption> = {},
  ): Promise<readonly Receipt[]> => {
    const checkOpen = (): void => this.#checkAccepting('emitMany', options);
    checkOpen();
    // The overload with `tx` resolves with the ids alone.
    return (await this.#publisher.publishMany(target, payloads, options, checkOpen)) as readonly Receipt[];
  };

  async cancel(id: string, options: ActionOptions = {}): Promise<boolean> {
    this.#lifecycle.checkRunning('cancel');
    checkName(id, 'id of cancel');
    checkActor(new OptionChecker(options, actionOptionNames, 'cancel'), options);
    const { transport } = this;
    return audited(this, 'cancel', { id }, options, () =>
      cancelEvent(id, this.#registry, { transport, redactor: this.#redactor }, (followUps) => {
        const prepared = this.#publisher.prepareFollowUps(followUps);
        // The transport waits for no schema while it cancels.
        return prepared instanceof Promise ? followUps : prepared;
      }),
    );
  }

  async startWorkflow<TInput, TResult>(
    target: WorkflowRef<TInput, TResult> | string,
    input: unknown,
    options: EmitOptions & Partial<TransactionOption> = {},
  ): Promise<WorkflowHandle<TResult>> {
    this.#checkAccepting('startWorkflow', options);
    const draft = await this.#publisher.draftRun(target, input, options);
    this.#checkAccepting('startWorkflow', options);
    const { tx } = options;
    if (tx === undefined) await this.#publisher.nextTurn;
    const { id } = await (tx === undefined ? this.#publisher.send(draft) : this.#publisher.sendWithin(draft, tx));
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

  stream<TData>(runId: string, options: StreamOptions = {}): AsyncIterable<StreamEvent<TData>> {
    checkName(runId, 'runId of stream');
    checkStreamOptions(options);
    this.#lifecycle.checkRunning('stream');
    const { runs, lookup, log } = this.transport;
    const host = { runs, lookup, log, service: this.service, services: this.services, redactor: this.#redactor };
    return streamRun(runId, { ...host, sources: this.#watchedTypes, stopped: this.#stopped.signal }, options);
  }

  async replay(id: string, options: ReplayOptions = {}): Promise<{ readonly id: string }> {
    const check = new OptionChecker(options, ['service', ...actionOptionNames], 'replay');
    check.name('service', options.service);
    checkActor(check, options);
    if (options.service === undefined) this.#lifecycle.checkService('replay');
    this.#lifecycle.checkRunning('replay');
    checkName(id, 'id of replay');
    const { service = this.service } = options;
    return audited(this, 'replay', { id, service }, options, async () => {
      if (!(await this.transport.deadLetters.replay(id, service))) throw new UnknownDeadLetterError(id, service);
      return { id };
    });
  }

  async fork(runId: string, options: ForkOptions): Promise<{ readonly id: string }> {
    checkName(runId, 'runId of fork');
    checkFork(options);
    if (options.service === undefined) this.#checkAccepting('fork', undefined);
    else this.#lifecycle.checkRunning('fork');
    const { runs, lookup } = this.transport;
    const { fromStep, service = this.service } = options;
    const found = (await lookup.find(runId)).filter(({ run }) => run !== undefined);
    const own = found.find((event) => event.service === service);
    const [elsewhere] = found.map((event) => `service ${quote(event.service)} runs it: pass it as service`);
    if (own === undefined) throw new UnknownRunError(undefined, runId, elsewhere);
    const source = await this.#forkable(own.type, service, options);
    const record = await runs.get(own.type, runId, service);
    if (record === undefined) throw new UnknownRunError(undefined, runId);
    const recorded = recordedBefore(record, fromStep);
    const input = options.input === undefined ? undefined : { value: options.input };
    return audited(this, 'fork', { id: runId, step: fromStep }, options, async () => ({
      id: await this.#publisher.sendFork(source, record, recorded, input),
    }));
  }

  /** Returns the definition of the runs of a type; the type if only hubs of its service have the definition. */
  async #forkable(type: string, service: string, options: ForkOptions): Promise<ForkSource> {
    const isHere = service === this.service && (options.service === undefined || this.#registry.isForkable(type));
    if (isHere) return this.#registry.forkable(type);
    if (options.input === undefined && (await this.services.recordsInput(type, service))) return { type, service };
    const name = quote(workflowOf(type) ?? type);
    const reason =
      options.input === undefined
        ? `tags or awaited events of ${name} are computed from its input, or a process of an earlier version runs it; fork it in a process of the service, or update all of them`
        : `a process that registered ${name} checks its input; fork it there`;
    throw new InvalidOptionError('service of fork', `that of this hub: ${reason}`, service);
  }

  async decide(runId: string, options: DecisionOptions): Promise<{ readonly step: string }> {
    checkName(runId, 'runId of decide');
    checkDecision(options);
    this.#lifecycle.checkRunning('decide');
    const { approved, reason } = options;
    const { step, type, approvalId } = findApproval(runId, await this.find(runId), options);
    const decided = { approvalId, approved, ...(reason !== undefined && { reason }) };
    return audited(this, approved ? 'approve' : 'refuse', { id: runId, step }, options, async () => {
      const draft = await this.#publisher.draftAnswer(type, approvalId, decided);
      await this.#publisher.nextTurn;
      await this.#publisher.send(draft);
      return { step };
    });
  }

  async send(runId: string, text: string, options: SendOptions = {}): Promise<{ readonly id: string }> {
    checkName(runId, 'runId of send');
    checkSend(text, options);
    this.#lifecycle.checkRunning('send');
    const { services, transport } = this;
    const runsAgents: TextSender['runsAgents'] = (type, service) => services.runsAgents(type, service);
    return sendText(runId, text, options, { transport, maxPayloadBytes: this.#maxPayloadBytes, runsAgents });
  }

  alert(options: AlertOptions): void {
    this.#alerts.add(options);
  }

  async pause(target: PauseTarget, options: PauseOptions): Promise<void> {
    const named = namedTarget(target, 'pause');
    const check = new OptionChecker(options, actionOptionNames, 'pause');
    for (const name of ['reason', 'by'] as const) check.required(name, options[name]);
    checkActor(check, options);
    this.#lifecycle.checkRunning('pause');
    await this.checkTarget(named);
    await audited(this, 'pause', target, options, () => this.pausing.pause(target, options));
  }

  async resume(target: PauseTarget, options: ResumeOptions): Promise<boolean> {
    namedTarget(target, 'resume');
    const check = new OptionChecker(options, actionOptionNames, 'resume');
    check.required('by', options.by);
    checkActor(check, options);
    this.#lifecycle.checkRunning('resume');
    return audited(this, 'resume', target, options, () => this.pausing.resume(target));
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
      agentParts: {
        reporter: this.#registry.reportedAgents,
        limits: new LimitKeeper(this.transport.kv, this.transport.clock),
      },
      registry: this.#registry,
      publisher: this.#publisher,
      pauses: this.pausing,
      errors: this.errorCounter,
      invocations: this.invocations,
      onFailure: this.#onFailure,
      tally: this.#workload,
    };
    const scheduler = new Scheduler(this.#registry.schedules, host);
    await scheduler.check();
    const { subscriptions, declared, onDelivery, watchedTypes, flush } = createSubscriptions(this.#registry, host);
    this.#flushBatches = flush;
    this.#watchedTypes = watchedTypes;
    const isConsumer = subscriptions.length + this.#registry.schedules.length > 0;
    this.isConsumer = isConsumer;
    await this.transport.start({
      concurrency: this.#concurrency,
      subscriptions,
      declared,
      onDelivery: (delivery) => {
        this.#lifecycle.markConsuming();
        onDelivery(this.#hasBlobs ? delivery : refuseReferences(delivery));
      },
      describe: () => this.#registry.descriptionOf(this.service),
      describeProcess: processDescriber({ id: this.hubId, slots: this.#concurrency, release: this.#release }, () =>
        this.transport.clock.now(),
      ),
      onDrained: async () => {
        await Promise.all([
          this.errorCounter.close(),
          this.releases.close(),
          this.roster.close(),
          this.invocations.flush(),
        ]);
      },
      onDropped: ({ runType, ...event }) => {
        const fields = { workflow: workflowOf(runType) ?? runType, ...event };
        this.logger.warn(fields, 'run dropped an event: it keeps at most 1,000 events and 1 MiB');
      },
      ...(isConsumer && {
        onRegister: async () => {
          await Promise.all([this.pausing.open(), this.openRelease()]);
        },
      }),
    });
    // A start waits for nothing that only introspection shows.
    if (isConsumer) void this.roster.open();
    this.#stopObserving = observeCounts(
      this.transport,
      subscriptions.map(({ type }) => type),
    );
    this.#scheduler = scheduler;
    try {
      if (isConsumer) await this.pausing.follow();
      await scheduler.open(isConsumer);
    } catch (error) {
      this.#stopObserving();
      this.pausing.stop();
      await this.transport.close({ drainMs: 0 });
      throw error;
    }
  }

  async #stop(drainMs: number): Promise<StopResult> {
    if (this.#lifecycle.isStarting) await this.#starting?.catch(() => {}); // the caller of `start` receives it
    this.#lifecycle.state = 'stopping';
    this.#scheduler?.stop();
    await this.#alerts.close();
    this.#stopObserving();
    this.#flushBatches();
    await this.#publisher.sent();
    try {
      return await this.transport.close({ drainMs });
    } finally {
      this.pausing.stop();
      this.#lifecycle.state = 'stopped';
      this.#stopped.abort(new HubStoppedError('result() of a workflow run was pending'));
    }
  }
}
