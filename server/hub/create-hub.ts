import { randomUUID } from 'node:crypto';
import {
  DuplicateNameError,
  HubNotStartedError,
  HubStartedError,
  HubStoppedError,
  InvalidOptionError,
  SchemaValidationError,
  UnknownEventError,
} from '../errors.js';
import { type Logger, silentLogger } from '../transports/logger.js';
import { memoryTransport } from '../transports/memory/memory-transport.js';
import type { EventMetrics, FailureRecord } from '../transports/stats.js';
import type { Envelope, Receipt, TransportManager } from '../transports/transport.js';
import { Attempt, type AttemptHost, type HandledEvent } from './attempt.js';
import { checkEmitOptions, type Emit, type EmitOptions } from './emit.js';
import { checkTypeName, type EventConfig, type EventRef, type RegisteredEvent, resolveEvent } from './event.js';
import { checkFollowUps } from './follow-ups.js';
import type { Hub, HubOptions, StopResult } from './hub.js';
import { introspect } from './introspect.js';
import type { HubIntrospection } from './introspection.js';
import { nearestNames } from './nearest-names.js';
import { encodePayload } from './payload.js';

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

type State = 'new' | 'starting' | 'running' | 'stopping' | 'stopped';

class HubRuntime implements Hub, AttemptHost {
  readonly transport: TransportManager;
  readonly logger: Logger;
  readonly maxPayloadBytes: number;
  readonly #id = randomUUID().slice(0, 8);
  readonly #allowCycles: boolean;
  readonly #concurrency: number;
  readonly #events = new Map<string, RegisteredEvent>();
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
    if (this.#state !== 'new') throw new HubStartedError(`event ${JSON.stringify(event.type)} registered`);
    if (this.#events.has(event.type)) throw new DuplicateNameError('event', event.type);
    this.#events.set(event.type, event);
    return { type: event.type };
  }

  async start(): Promise<void> {
    if (this.#state === 'starting' || this.#state === 'running') throw new HubStartedError('start() called');
    if (this.#state !== 'new') throw new HubStoppedError('start() called');
    const followUps = new Map([...this.#events].map(([type, event]) => [type, event.followUps]));
    checkFollowUps(followUps, this.#allowCycles);
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
    if (this.#state === 'new' || this.#state === 'starting') throw new HubNotStartedError('emit');
    if (this.#state !== 'running') throw new HubStoppedError('emit');
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
    return introspect(this.#events, this.transport, this.#startedAt);
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
    }
  }

  #consume(): Promise<void> {
    const handled = [...this.#events.values()].filter(isHandled);
    const byType = new Map(handled.map((event) => [event.type, event]));
    return this.transport.start({
      concurrency: this.#concurrency,
      subscriptions: handled.map(({ type, concurrency, rate }) => ({
        type,
        ...(concurrency !== undefined && { concurrency }),
        ...(rate !== undefined && { rate }),
      })),
      consumer: (delivery) => {
        const event = byType.get(delivery.envelope.type);
        // A transport delivers what was subscribed to, and nothing else.
        if (event !== undefined) new Attempt(event, delivery, this).run();
      },
    });
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
    const id = randomUUID();
    const { delayMs = 0, priority = 0, dedupeId, requestId = cause?.requestId ?? id } = options ?? {};
    const depth = cause === undefined ? 0 : cause.depth + 1;
    const dedupe = dedupeId === undefined ? undefined : { id: dedupeId, windowMs: event.dedupeWindowMs };
    const envelope: Envelope = { id, type, body, requestId, depth, delayMs, priority, dedupe };
    const [receipt = { id, deduplicated: false }] = await this.transport.publish([envelope]);
    return receipt;
  }

  #registered(type: string): RegisteredEvent {
    const event = this.#events.get(type);
    if (event === undefined) {
      checkTypeName(type, 'event type');
      throw new UnknownEventError(type, nearestNames(type, this.#events.keys()));
    }
    return event;
  }
}

function isHandled(event: RegisteredEvent): event is HandledEvent {
  return event.handler !== undefined;
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
