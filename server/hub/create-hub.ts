import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { InvalidOptionError, quote } from '../errors.js';
import type { Redactor } from '../redactor.js';
import { loadOpenTelemetry } from '../telemetry/open-telemetry.js';
import type { Logger } from '../transports/logger.js';
import type { EventMetrics, FailureRecord } from '../transports/stats.js';
import type { Envelope, TransportManager } from '../transports/transport.js';
import { HubStoppedError, UnknownDeadLetterError, UnknownEventError } from './errors.js';
import {
  type DeadLetter,
  type DeadLetterOptions,
  type DeadLetterSource,
  readDeadLetters,
} from './events/dead-letters.js';
import type { Emit, EmitOptions } from './events/emit.js';
import { type EventConfig, resolveEvent } from './events/event.js';
import type { EventRef } from './events/event-ref.js';
import type { HandlerHost } from './events/outcome-recorder.js';
import type { Hub, HubOptions, StopResult } from './hub.js';
import { type HubSettings, resolveHubOptions } from './hub-options.js';
import { warnOfDifferingSettings } from './introspection/differing-settings.js';
import type { HubIntrospection } from './introspection/introspection.js';
import { Introspector } from './introspection/introspector.js';
import { Lifecycle, resolveDrainMs } from './lifecycle.js';
import { observeCounts } from './observability/observe-counts.js';
import { Publisher } from './publisher.js';
import { Registry } from './registry.js';
import { type HubWorkflow, isWorkflow } from './runs/workflow.js';
import { createWorkflowHandle, type WorkflowHandle } from './runs/workflow-handle.js';
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

class HubRuntime implements Hub, HandlerHost {
  readonly transport: TransportManager;
  readonly logger: Logger;
  readonly maxPayloadBytes: number;
  readonly redactor: Redactor;
  readonly #registry = new Registry();
  readonly #introspector: Introspector;
  readonly #publisher: Publisher;
  readonly #id = randomUUID().slice(0, 8);
  readonly #allowCycles: boolean;
  readonly #concurrency: number;
  readonly #stopped = new AbortController();
  readonly #lifecycle: Lifecycle;
  #startedAt: number | null = null;
  #starting: Promise<void> | undefined;
  #stopping: Promise<StopResult> | undefined;
  #stopObserving = (): void => {};

  constructor(transport: TransportManager, settings: Omit<HubSettings, 'service' | 'transport'>) {
    this.transport = transport;
    this.logger = settings.logger;
    this.maxPayloadBytes = settings.maxPayloadBytes;
    this.redactor = settings.redactor;
    this.#introspector = new Introspector(transport, settings.redactor);
    this.#publisher = new Publisher(transport, settings.maxPayloadBytes, settings.redactor);
    this.#allowCycles = settings.allowCycles;
    this.#lifecycle = new Lifecycle(settings.observer);
    this.#concurrency = settings.concurrency;
    // Each pending result() adds a listener.
    setMaxListeners(0, this.#stopped.signal);
  }

  get service(): string {
    return this.transport.service;
  }

  event<TPayload>(config: EventConfig<TPayload>): EventRef<TPayload> {
    // The schema ensures that the payload has the handler's type; without one the type is the caller's claim.
    const event = resolveEvent(config as EventConfig);
    this.#lifecycle.checkRegistering(`event ${quote(event.type)} registered`);
    this.#registry.addEvent(event);
    return { type: event.type };
  }

  workflow(workflow: HubWorkflow): HubWorkflow {
    if (!isWorkflow(workflow)) throw new InvalidOptionError('hub.workflow', 'the result of createWorkflow', workflow);
    this.#lifecycle.checkRegistering(`workflow ${quote(workflow.name)} registered`);
    this.#registry.addWorkflow(workflow);
    return workflow;
  }

  async start(): Promise<void> {
    this.#lifecycle.checkStart();
    this.#registry.checkChains(this.#allowCycles);
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

  readonly emit: Emit = async (target: EventRef | string, payload: unknown, options?: EmitOptions) => {
    const checkOpen = (): void => this.#lifecycle.checkEmitting('emit');
    checkOpen();
    return this.#publisher.publish(this.#registry.event(target), payload, options, checkOpen, undefined);
  };

  emitFrom(cause: Envelope): Emit {
    return async (target: EventRef | string, payload: unknown, options?: EmitOptions) => {
      const checkOpen = (): void => this.#lifecycle.checkNotStopped('ctx.emit');
      checkOpen();
      return this.#publisher.publish(this.#registry.event(target), payload, options, checkOpen, cause);
    };
  }

  async startWorkflow(
    target: HubWorkflow | string,
    payload: unknown,
    options: EmitOptions = {},
  ): Promise<WorkflowHandle> {
    this.#lifecycle.checkEmitting('startWorkflow');
    const workflow = this.#registry.workflow(target);
    const { id } = await this.#publisher.publishRun(workflow, payload, options);
    return createWorkflowHandle(workflow, id, this, this.#stopped.signal);
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
    return deadLetters;
  }

  async replay(id: string): Promise<{ readonly id: string }> {
    this.#lifecycle.checkRunning('replay');
    if (typeof id !== 'string') throw new InvalidOptionError('id of replay', 'the id of a dead letter', id);
    if (!(await this.transport.replay(id))) throw new UnknownDeadLetterError(id, this.service);
    return { id };
  }

  async introspect(): Promise<HubIntrospection> {
    return this.#introspector.read(this.#registry.describe(this.service), this.#startedAt);
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

  async #consume(): Promise<void> {
    await loadOpenTelemetry();
    const { subscriptions, onDelivery } = createSubscriptions(this.#registry, this);
    await this.transport.start({
      concurrency: this.#concurrency,
      subscriptions,
      onDelivery,
      describe: () => this.#registry.descriptionOf(this.service),
    });
    this.#stopObserving = observeCounts(
      this.transport,
      subscriptions.map(({ type }) => type),
    );
  }

  async #stop(drainMs: number): Promise<StopResult> {
    if (this.#lifecycle.state === 'starting') await this.#starting?.catch(() => {}); // the caller of `start` receives it
    this.#lifecycle.state = 'stopping';
    this.#stopObserving();
    try {
      return await this.transport.close({ drainMs });
    } finally {
      this.#lifecycle.state = 'stopped';
      this.#stopped.abort(new HubStoppedError('result() of a workflow run was pending'));
    }
  }

  async #isEvent(type: string): Promise<boolean> {
    return this.#registry.hasEvent(type) || (await this.#introspector.hasEvent(type));
  }

  /** @throws {UnknownEventError} unless this or another running hub of the transport registered the type */
  async #checkEvent(type: string): Promise<void> {
    if (!(await this.#isEvent(type))) this.#registry.eventOfType(type);
  }

  /** @throws {UnknownEventError} unless this or another running hub registered an event or a workflow of this name */
  async #checkName(name: string): Promise<void> {
    if (this.#registry.hasWorkflow(name) || (await this.#introspector.hasWorkflow(name))) return;
    await this.#checkEvent(name);
  }
}
