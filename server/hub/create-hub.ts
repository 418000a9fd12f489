import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { DuplicateNameError, InvalidOptionError, quote } from '../errors.js';
import { loadOpenTelemetry } from '../telemetry/open-telemetry.js';
import type { Logger } from '../transports/logger.js';
import type { EventMetrics, FailureRecord } from '../transports/stats.js';
import type { Envelope, Receipt, TransportManager } from '../transports/transport.js';
import { workflowType } from '../transports/workflow-type.js';
import { checkChains } from './check-chains.js';
import {
  HubStoppedError,
  SchemaValidationError,
  UnknownDeadLetterError,
  UnknownEventError,
  UnknownWorkflowError,
} from './errors.js';
import {
  type DeadLetter,
  type DeadLetterOptions,
  type DeadLetterSource,
  readDeadLetters,
} from './events/dead-letters.js';
import { checkEmitOptions, type Emit, type EmitOptions } from './events/emit.js';
import { defaultDedupeWindowMs, type EventConfig, type RegisteredEvent, resolveEvent } from './events/event.js';
import type { EventRef } from './events/event-ref.js';
import type { DeliveryHost } from './events/outcome-recorder.js';
import { encodePayload } from './events/payload.js';
import type { Hub, HubOptions, StopResult } from './hub.js';
import { type HubSettings, resolveHubOptions } from './hub-options.js';
import { warnOfDifferingSettings } from './introspection/differing-settings.js';
import { type HandlerInfo, handlerInfo } from './introspection/handler-info.js';
import { agentsRevision, describeHub, type HubDescription } from './introspection/hub-description.js';
import type { HubIntrospection } from './introspection/introspection.js';
import { Introspector } from './introspection/introspector.js';
import { drainMsOf, Lifecycle } from './lifecycle.js';
import { nearestNames } from './nearest-names.js';
import { observeCounts } from './observability/observe-counts.js';
import { observeSends } from './observability/observe-sends.js';
import { type HubWorkflow, isWorkflow } from './runs/workflow.js';
import { type WorkflowHandle, workflowHandle } from './runs/workflow-handle.js';
import { subscribe } from './subscriptions.js';

/**
 * Creates a hub: register events on it, `start` it, `emit`.
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

interface Message {
  readonly type: string;
  /** JSON */
  readonly body: string;
  readonly options: EmitOptions | undefined;
  readonly dedupeWindowMs: number;
}

class HubRuntime implements Hub, DeliveryHost {
  readonly transport: TransportManager;
  readonly logger: Logger;
  readonly maxPayloadBytes: number;
  readonly #introspector: Introspector;
  readonly #id = randomUUID().slice(0, 8);
  readonly #allowCycles: boolean;
  readonly #concurrency: number;
  readonly #events = new Map<string, RegisteredEvent>();
  readonly #workflows = new Map<string, HubWorkflow>();
  // Kept apart: every poll of the dashboard asks how much they have done, and thousands of types may have no agent.
  readonly #informed: HandlerInfo[] = [];
  readonly #stopped = new AbortController();
  readonly #lifecycle: Lifecycle;
  #startedAt: number | null = null;
  #starting: Promise<void> | undefined;
  #stopping: Promise<StopResult> | undefined;
  #stopObserving = (): void => {};

  constructor(transport: TransportManager, settings: Omit<HubSettings, 'service' | 'transport'>) {
    this.transport = transport;
    this.#introspector = new Introspector(transport);
    this.logger = settings.logger;
    this.maxPayloadBytes = settings.maxPayloadBytes;
    this.#allowCycles = settings.allowCycles;
    this.#lifecycle = new Lifecycle(settings.observer);
    this.#concurrency = settings.concurrency;
    // One listener for each result() that waits.
    setMaxListeners(0, this.#stopped.signal);
  }

  get service(): string {
    return this.transport.service;
  }

  event<TPayload>(config: EventConfig<TPayload>): EventRef<TPayload> {
    // The schema, or else the caller's word, holds the payload to the handler's type.
    const event = resolveEvent(config as EventConfig);
    this.#lifecycle.checkNew(`event ${quote(event.type)} registered`);
    if (this.#events.has(event.type)) throw new DuplicateNameError('event', event.type);
    this.#events.set(event.type, event);
    this.#noteInfo(event.handler);
    return { type: event.type };
  }

  workflow(workflow: HubWorkflow): HubWorkflow {
    if (!isWorkflow(workflow)) throw new InvalidOptionError('hub.workflow', 'what createWorkflow returned', workflow);
    this.#lifecycle.checkNew(`workflow ${quote(workflow.name)} registered`);
    if (this.#workflows.has(workflow.name)) throw new DuplicateNameError('workflow', workflow.name);
    this.#workflows.set(workflow.name, workflow);
    for (const { handler } of workflow.steps) this.#noteInfo(handler);
    return workflow;
  }

  async start(): Promise<void> {
    this.#lifecycle.checkStart();
    checkChains(this.#events, this.#workflows, this.#allowCycles);
    this.#lifecycle.state = 'starting';
    this.#starting = this.#consume();
    try {
      await this.#starting;
      this.#startedAt = this.transport.clock.now();
      this.#lifecycle.state = 'running';
      void warnOfDifferingSettings(this.#describe(), this.transport, this.logger);
    } catch (error) {
      this.#lifecycle.state = 'new';
      throw error;
    }
  }

  readonly emit: Emit = async (target: EventRef | string, payload: unknown, options?: EmitOptions) => {
    this.#lifecycle.checkEmitting('emit');
    return this.#publish(target, payload, options, undefined);
  };

  emitFrom(cause: Envelope): Emit {
    return async (target: EventRef | string, payload: unknown, options?: EmitOptions) => {
      this.#lifecycle.checkNotStopped('ctx.emit');
      return this.#publish(target, payload, options, cause);
    };
  }

  async metrics(type: string): Promise<EventMetrics> {
    return this.transport.metrics(await this.#known(type));
  }

  async failures(type: string): Promise<readonly FailureRecord[]> {
    return this.transport.failures(await this.#known(type));
  }

  async deadLetters<TPayload>(
    source: DeadLetterSource<TPayload>,
    options: DeadLetterOptions = {},
  ): Promise<readonly DeadLetter<TPayload>[]> {
    const letters = await readDeadLetters(source, options, this.transport);
    // There may be some of what is registered no more; where there are none the name may be wrong.
    if (letters.length === 0 && typeof source === 'string') await this.#checkName(source);
    return letters;
  }

  async replay(id: string): Promise<{ readonly id: string }> {
    this.#lifecycle.checkRunning('replay');
    if (typeof id !== 'string') throw new InvalidOptionError('id of replay', 'the id of a dead letter', id);
    if (!(await this.transport.replay(id))) throw new UnknownDeadLetterError(id, this.service);
    return { id };
  }

  async introspect(): Promise<HubIntrospection> {
    return this.#introspector.read(this.#describe(), this.#startedAt);
  }

  async revision(type?: string): Promise<string> {
    const revision = await this.transport.revision(type === undefined ? undefined : await this.#known(type));
    // What is registered can only change before start, what agents spend at any time.
    const registered = this.#startedAt === null ? this.#events.size + this.#workflows.size : 'started';
    const agents = type === undefined ? agentsRevision(this.#informed) : 0;
    return `${this.#id}.${registered}.${agents}.${revision}`;
  }

  async stop(options: { drainMs?: number } = {}): Promise<StopResult> {
    const drainMs = drainMsOf(options);
    this.#stopping ??= this.#stop(drainMs);
    return this.#stopping;
  }

  async #stop(drainMs: number): Promise<StopResult> {
    if (this.#lifecycle.state === 'starting') await this.#starting?.catch(() => {}); // `start` tells its caller
    this.#lifecycle.state = 'stopping';
    this.#stopObserving();
    try {
      return await this.transport.close({ drainMs });
    } finally {
      this.#lifecycle.state = 'stopped';
      this.#stopped.abort(new HubStoppedError('result() of a workflow run was waiting'));
    }
  }

  async #consume(): Promise<void> {
    await loadOpenTelemetry();
    const { subscriptions, onDelivery } = subscribe(this.#events.values(), this.#workflows.values(), this);
    await this.transport.start({
      concurrency: this.#concurrency,
      subscriptions,
      onDelivery,
      describe: () => JSON.stringify(this.#describe()),
    });
    this.#stopObserving = observeCounts(
      this.transport,
      subscriptions.map(({ type }) => type),
    );
  }

  async startWorkflow(
    target: HubWorkflow | string,
    payload: unknown,
    options: EmitOptions = {},
  ): Promise<WorkflowHandle> {
    this.#lifecycle.checkEmitting('startWorkflow');
    const name = typeof target === 'string' ? target : target?.name;
    if (typeof name !== 'string')
      throw new InvalidOptionError('workflow', 'a name or what createWorkflow returned', target);
    const workflow = this.#workflows.get(name);
    if (workflow === undefined) throw new UnknownWorkflowError(name, nearestNames(name, this.#workflows.keys()));
    checkEmitOptions(options);
    const body = encodePayload(payload, name, this.maxPayloadBytes);
    const message = { type: workflowType(name), body, options, dedupeWindowMs: defaultDedupeWindowMs };
    const { id } = await this.#send(message, undefined);
    return workflowHandle(workflow, id, this.transport, this.#stopped.signal);
  }

  async #publish(
    target: EventRef | string,
    payload: unknown,
    options: EmitOptions | undefined,
    cause: Envelope | undefined,
  ): Promise<Receipt> {
    const event = this.#registered(typeof target === 'string' ? target : target?.type);
    if (options !== undefined) checkEmitOptions(options);
    const { type } = event;
    const body = encodePayload(payload, type, this.maxPayloadBytes);
    if (event.schema !== undefined) {
      // What the handler will get is what has to fit: the payload after its way through JSON.
      const result = await event.schema.validate(JSON.parse(body));
      if (result.issues !== undefined) throw new SchemaValidationError(type, result.issues);
      // Validation may have taken its time.
      if (cause === undefined) this.#lifecycle.checkRunning('emit');
      else this.#lifecycle.checkNotStopped('ctx.emit');
    }
    return this.#send({ type, body, options, dedupeWindowMs: event.dedupeWindowMs }, cause);
  }

  async #send({ type, body, options, dedupeWindowMs }: Message, cause: Envelope | undefined): Promise<Receipt> {
    const id = randomUUID();
    const { delayMs = 0, priority = 0, dedupeId, requestId = cause?.requestId ?? id } = options ?? {};
    const depth = cause === undefined ? 0 : cause.depth + 1;
    const dedupe = dedupeId === undefined ? undefined : { id: dedupeId, windowMs: dedupeWindowMs };
    const trace = cause?.trace;
    const envelope: Envelope = { id, type, body, requestId, depth, delayMs, priority, replays: 0, dedupe, trace };
    const [receipt = { id, deduplicated: false }] = await observeSends([envelope], (sent) =>
      this.transport.publish(sent),
    );
    return receipt;
  }

  #noteInfo(handler: object | undefined): void {
    const info = handler && handlerInfo(handler);
    if (info !== undefined) this.#informed.push(info);
  }

  #describe(): HubDescription {
    return describeHub(this.service, [...this.#events.values()], [...this.#workflows.values()], this.#informed);
  }

  /** The type, where it is registered here or on another hub of the transport. */
  async #known(type: string): Promise<string> {
    const isKnown = this.#events.has(type) || (await this.#introspector.hasEvent(type));
    return isKnown ? type : this.#registered(type).type;
  }

  /** @throws {UnknownEventError} unless an event type or a workflow of this name is registered, here or elsewhere */
  async #checkName(name: string): Promise<void> {
    if (this.#workflows.has(name) || (await this.#introspector.hasWorkflow(name))) return;
    await this.#known(name);
  }

  #registered(type: string): RegisteredEvent {
    const event = this.#events.get(type);
    if (event === undefined) {
      if (typeof type !== 'string')
        throw new InvalidOptionError('event type', 'a string or what hub.event returned', type);
      throw new UnknownEventError(type, nearestNames(type, this.#events.keys()));
    }
    return event;
  }
}
