import { randomUUID } from 'node:crypto';
import {
  DuplicateNameError,
  HubNotStartedError,
  HubStartedError,
  HubStoppedError,
  InvalidOptionError,
  quote,
  SchemaValidationError,
  UnknownEventError,
  UnknownWorkflowError,
} from '../errors.js';
import { type Logger, silentLogger } from '../transports/logger.js';
import { memoryTransport } from '../transports/memory/memory-transport.js';
import type { EventMetrics, FailureRecord } from '../transports/stats.js';
import type { Delivery, Envelope, Receipt, Subscription, TransportManager } from '../transports/transport.js';
import { Attempt, type HandledEvent } from './attempt.js';
import { checkChains } from './check-chains.js';
import type { DeliveryHost } from './conclusion.js';
import { checkEmitOptions, type Emit, type EmitOptions } from './emit.js';
import { type EventConfig, type EventRef, type RegisteredEvent, resolveEvent } from './event.js';
import type { Hub, HubOptions, StopResult } from './hub.js';
import { introspect } from './introspect.js';
import type { HubIntrospection } from './introspection.js';
import { nearestNames } from './nearest-names.js';
import { encodePayload } from './payload.js';
import { checkTypeName } from './type-name.js';
import { type HubWorkflow, workflowType } from './workflow.js';
import { type WorkflowHandle, workflowHandle } from './workflow-handle.js';
import { runWorkflow } from './workflow-run.js';

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
  const { service = 'hub', transport = memoryTransport(), logger = silentLogger, allowCycles = false } = options;
  const { concurrency = 100, maxPayloadBytes = 512 * 1024 } = options;
  checkTypeName(service, 'service');
  checkMethods(transport, ['connect'], 'transport', 'a transport, such as memoryTransport()');
  checkMethods(logger, ['debug', 'info', 'warn', 'error'], 'logger', 'an object with debug, info, warn and error');
  checkCount(concurrency, 'concurrency');
  checkCount(maxPayloadBytes, 'maxPayloadBytes');
  if (typeof allowCycles !== 'boolean') throw new InvalidOptionError('allowCycles', 'true or false', allowCycles);
  const connection = transport.connect({ service, logger });
  return new HubRuntime(connection, { logger, allowCycles, concurrency, maxPayloadBytes });
}

interface Message {
  readonly type: string;
  /** JSON */
  readonly body: string;
  readonly options: EmitOptions | undefined;
  readonly dedupeWindowMs: number;
}

type State = 'new' | 'starting' | 'running' | 'stopping' | 'stopped';

class HubRuntime implements Hub, DeliveryHost {
  readonly transport: TransportManager;
  readonly logger: Logger;
  readonly maxPayloadBytes: number;
  readonly #id = randomUUID().slice(0, 8);
  readonly #allowCycles: boolean;
  readonly #concurrency: number;
  readonly #events = new Map<string, RegisteredEvent>();
  readonly #workflows = new Map<string, HubWorkflow>();
  readonly #stopped = new AbortController();
  #state: State = 'new';
  #startedAt: number | null = null;
  #starting: Promise<void> | undefined;
  #stopping: Promise<StopResult> | undefined;

  constructor(transport: TransportManager, settings: Required<Omit<HubOptions, 'service' | 'transport'>>) {
    this.transport = transport;
    this.logger = settings.logger;
    this.maxPayloadBytes = settings.maxPayloadBytes;
    this.#allowCycles = settings.allowCycles;
    this.#concurrency = settings.concurrency;
  }

  get service(): string {
    return this.transport.service;
  }

  event<TPayload>(config: EventConfig<TPayload>): EventRef<TPayload> {
    // The schema, or else the caller's word, holds the payload to the handler's type.
    const event = resolveEvent(config as EventConfig);
    if (this.#state !== 'new') throw new HubStartedError(`event ${quote(event.type)} registered`);
    if (this.#events.has(event.type)) throw new DuplicateNameError('event', event.type);
    this.#events.set(event.type, event);
    return { type: event.type };
  }

  workflow(workflow: HubWorkflow): HubWorkflow {
    if (!isWorkflow(workflow)) throw new InvalidOptionError('hub.workflow', 'what createWorkflow returned', workflow);
    if (this.#state !== 'new') throw new HubStartedError(`workflow ${quote(workflow.name)} registered`);
    if (this.#workflows.has(workflow.name)) throw new DuplicateNameError('workflow', workflow.name);
    this.#workflows.set(workflow.name, workflow);
    return workflow;
  }

  async start(): Promise<void> {
    if (this.#state === 'starting' || this.#state === 'running') throw new HubStartedError('start() called');
    if (this.#state !== 'new') throw new HubStoppedError('start() called');
    checkChains(this.#events, this.#workflows, this.#allowCycles);
    this.#state = 'starting';
    this.#starting = this.#consume();
    try {
      await this.#starting;
      this.#startedAt = this.transport.clock.now();
      this.#state = 'running';
    } catch (error) {
      this.#state = 'new';
      throw error;
    }
  }

  readonly emit: Emit = async (target: EventRef | string, payload: unknown, options?: EmitOptions) => {
    this.#checkRunning('emit');
    return this.#publish(target, payload, options, undefined);
  };

  emitFrom(cause: Envelope): Emit {
    return async (target: EventRef | string, payload: unknown, options?: EmitOptions) => {
      // While the hub drains, handlers that still run may finish their work.
      if (this.#state === 'stopped') throw new HubStoppedError('ctx.emit');
      return this.#publish(target, payload, options, cause);
    };
  }

  async metrics(type: string): Promise<EventMetrics> {
    return this.transport.metrics(this.#registered(type).type);
  }

  async failures(type: string): Promise<readonly FailureRecord[]> {
    return this.transport.failures(this.#registered(type).type);
  }

  async introspect(): Promise<HubIntrospection> {
    return introspect([...this.#events.values()], [...this.#workflows.values()], this.transport, this.#startedAt);
  }

  async revision(type?: string): Promise<string> {
    const revision = await this.transport.revision(type === undefined ? undefined : this.#registered(type).type);
    // What is registered can only change before start.
    return `${this.#id}.${this.#startedAt === null ? this.#events.size : 'started'}.${revision}`;
  }

  stop(options: { drainMs?: number } = {}): Promise<StopResult> {
    const { drainMs = 10_000 } = options;
    if (!(typeof drainMs === 'number' && drainMs >= 0)) {
      return Promise.reject(new InvalidOptionError('drainMs of stop', 'milliseconds, 0 or more', drainMs));
    }
    this.#stopping ??= this.#stop(drainMs);
    return this.#stopping;
  }

  async #stop(drainMs: number): Promise<StopResult> {
    if (this.#state === 'starting') await this.#starting?.catch(() => {}); // `start` tells its caller
    this.#state = 'stopping';
    try {
      return await this.transport.close({ drainMs });
    } finally {
      this.#state = 'stopped';
      this.#stopped.abort(new HubStoppedError('result() of a workflow run was waiting'));
    }
  }

  #consume(): Promise<void> {
    const consumers = new Map<string, (delivery: Delivery) => void>();
    const subscriptions: Subscription[] = [];
    for (const event of this.#events.values()) {
      if (!isHandled(event)) continue;
      const { type, concurrency, rate } = event;
      consumers.set(type, (delivery) => new Attempt(event, delivery, this).run());
      subscriptions.push({
        type,
        ...(concurrency !== undefined && { concurrency }),
        ...(rate !== undefined && { rate }),
      });
    }
    for (const workflow of this.#workflows.values()) {
      const { name, trigger } = workflow;
      const type = workflowType(name);
      consumers.set(type, (delivery) => runWorkflow(workflow, delivery, this));
      subscriptions.push({
        type,
        keepsRuns: true,
        ...(trigger !== undefined && { trigger: { type: trigger, idSuffix: name } }),
      });
    }
    return this.transport.start({
      concurrency: this.#concurrency,
      subscriptions,
      // A transport delivers what was subscribed to, and nothing else.
      consumer: (delivery) => consumers.get(delivery.envelope.type)?.(delivery),
    });
  }

  async startWorkflow(
    target: HubWorkflow | string,
    payload: unknown,
    options: EmitOptions = {},
  ): Promise<WorkflowHandle> {
    this.#checkRunning('startWorkflow');
    const name = typeof target === 'string' ? target : target?.name;
    const workflow = this.#workflows.get(name);
    if (workflow === undefined) throw new UnknownWorkflowError(name, nearestNames(name, this.#workflows.keys()));
    checkEmitOptions(options);
    const body = encodePayload(payload, name, this.maxPayloadBytes);
    const { id } = await this.#send({ type: workflowType(name), body, options, dedupeWindowMs: 300_000 }, undefined);
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
    }
    return this.#send({ type, body, options, dedupeWindowMs: event.dedupeWindowMs }, cause);
  }

  async #send({ type, body, options, dedupeWindowMs }: Message, cause: Envelope | undefined): Promise<Receipt> {
    const id = randomUUID();
    const { delayMs = 0, priority = 0, dedupeId, requestId = cause?.requestId ?? id } = options ?? {};
    const depth = cause === undefined ? 0 : cause.depth + 1;
    const dedupe = dedupeId === undefined ? undefined : { id: dedupeId, windowMs: dedupeWindowMs };
    const envelope: Envelope = { id, type, body, requestId, depth, delayMs, priority, dedupe };
    const [receipt = { id, deduplicated: false }] = await this.transport.publish([envelope]);
    return receipt;
  }

  #checkRunning(operation: string): void {
    if (this.#state === 'new' || this.#state === 'starting') throw new HubNotStartedError(operation);
    if (this.#state !== 'running') throw new HubStoppedError(operation);
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

function isHandled(event: RegisteredEvent): event is HandledEvent {
  return event.handler !== undefined;
}

function isWorkflow(value: unknown): value is HubWorkflow {
  return typeof value === 'object' && value !== null && 'name' in value && 'steps' in value && 'followUps' in value;
}

function checkMethods(value: unknown, methods: readonly string[], option: string, expected: string): void {
  const isOk =
    typeof value === 'object' &&
    value !== null &&
    methods.every((method) => typeof (value as Record<string, unknown>)[method] === 'function');
  if (!isOk) throw new InvalidOptionError(option, expected, value);
}

function checkCount(value: unknown, option: string): void {
  if (!(typeof value === 'number' && Number.isInteger(value) && value >= 1)) {
    throw new InvalidOptionError(option, 'a whole number, 1 or more', value);
  }
}
