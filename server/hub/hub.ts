import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Redact } from '../redactor.js';
import type { Logger } from '../transports/logger.js';
import type { EventMetrics, FailureRecord } from '../transports/stats.js';
import type { Transport, TransportManager } from '../transports/transport.js';
import type { DeadLetter, DeadLetterOptions, DeadLetterSource } from './events/dead-letters.js';
import type { Emit, EmitOptions } from './events/emit.js';
import type { EventConfig } from './events/event.js';
import type { EventRef } from './events/event-ref.js';
import type { JsonSchema } from './events/schema.js';
import type { HubIntrospection } from './introspection/introspection.js';
import type { HubWorkflow } from './runs/workflow.js';
import type { WorkflowHandle } from './runs/workflow-handle.js';

/** Options of `createHub`. */
export interface HubOptions {
  /**
   * Service (consumer group) of the hub. Hubs of one service share the work; each service receives every event it
   * handles.
   * @default 'hub'
   */
  service?: string;
  /** Transport that stores and delivers the events. @default memoryTransport() */
  transport?: Transport;
  /** Logger with the interface of pino. @default no logging */
  logger?: Logger;
  /**
   * Maximum number of handlers that run at once in this hub, not counting types with their own `concurrency` or
   * `rate`.
   * @default 100
   */
  concurrency?: number;
  /** Maximum size of one payload as JSON, in bytes of UTF-8. @default 524_288 (512 KiB) */
  maxPayloadBytes?: number;
  /**
   * Allows `onSuccess`, `onFailure` and `onComplete` to form cycles. The depth limit still ends each chain.
   * @default false
   */
  allowCycles?: boolean;
  /**
   * Makes the hub read-only. It cannot register or emit, and shows what the other hubs of the transport register.
   * It can replay dead letters of its own `service`.
   * @default false
   */
  observer?: boolean;
  /**
   * Returns the name and the message of an error as they leave the process: in log lines, spans, recorded failures, dead
   * letters and the dashboard. It receives them after the default redaction, and the thrown value; of a recorded failure
   * it receives what was recorded. If it throws, the message is withheld.
   *
   * @example
   * ```ts
   * createHub({ redact: ({ name, message }) => ({ name, message: message.replace(/\S+@\S+/g, '[address]') }) });
   * ```
   * @default messages of the application's errors are shown; those of validators, parsers, clients and vendors are
   * replaced by paths, codes and statuses
   */
  redact?: Redact;
}

/** Event hub: accepts events, runs their handlers, retries failures and counts outcomes. */
export interface Hub {
  readonly service: string;
  readonly logger: Logger;
  readonly transport: TransportManager;
  /**
   * Registers an event type. Call it before `start`.
   *
   * @throws {InvalidOptionError | DuplicateNameError | InvalidSchemaError | HubStartedError}
   */
  event<TSchema extends StandardSchemaV1>(
    config: Omit<EventConfig<StandardSchemaV1.InferOutput<TSchema>>, 'schema'> & { schema: TSchema },
  ): EventRef<StandardSchemaV1.InferInput<TSchema>>;
  /** Registers an event type. The type argument is the type of its payload. Throws the same errors. */
  event<TPayload = unknown>(
    config: Omit<EventConfig<TPayload>, 'schema'> & { schema?: JsonSchema },
  ): EventRef<TPayload>;
  /** Registers a workflow. Call it before `start`. @throws {DuplicateNameError | HubStartedError} */
  workflow(workflow: HubWorkflow): HubWorkflow;
  /**
   * Checks follow-ups and triggers, then starts to consume events.
   *
   * @throws {UnknownEventError | EventCycleError | HubStartedError | HubStoppedError}
   */
  start(): Promise<void>;
  emit: Emit;
  /**
   * Starts a run of a workflow. Resolves when the run is accepted.
   *
   * @throws {UnknownWorkflowError} and the errors of `emit`
   */
  startWorkflow(workflow: HubWorkflow | string, payload: unknown, options?: EmitOptions): Promise<WorkflowHandle>;
  /** Returns counts, durations and history of one event type. @throws {UnknownEventError} */
  metrics(type: string): Promise<EventMetrics>;
  /** Returns the last 20 terminal failures of one event type, newest first. @throws {UnknownEventError} */
  failures(type: string): Promise<readonly FailureRecord[]>;
  /**
   * Returns the dead letters of an event type or a workflow in this hub's service, newest first, with their payloads.
   * A name matches the event type and the workflow of that name.
   *
   * @example
   * ```ts
   * for (const { id } of await hub.deadLetters('payment.requested', { limit: 1_000 })) await hub.replay(id);
   * ```
   * @throws {UnknownEventError | InvalidOptionError}
   */
  deadLetters<TPayload = unknown>(
    source: DeadLetterSource<TPayload>,
    options?: DeadLetterOptions,
  ): Promise<readonly DeadLetter<TPayload>[]>;
  /**
   * Removes a dead letter of this hub's service and accepts its event again, atomically and for this service only.
   * The event keeps its id, payload, `requestId` and `idempotencyKey`, restarts at attempt 1, and is counted as
   * received again. A workflow run resumes at the step that failed. The hub must run; it may be read-only.
   *
   * @param id id of the dead letter, which is the id of the event or the run
   * @throws {UnknownDeadLetterError | BackpressureError | NotSubscribedError | HubNotStartedError | HubStoppedError}
   */
  replay(id: string): Promise<{ readonly id: string }>;
  /** Returns all registered events, workflows and agents with their counts. */
  introspect(): Promise<HubIntrospection>;
  /**
   * Returns a short string that changes when the result of `introspect` changes, or of `metrics` and `failures` for
   * `type`.
   */
  revision(type?: string): Promise<string>;
  /**
   * Shuts down gracefully. Starts no further handlers and waits up to `drainMs` milliseconds for running ones. Then
   * aborts those that still run and releases their events, without spending an attempt.
   * A second call returns the same result.
   *
   * @throws {InvalidOptionError}
   */
  stop(options?: { drainMs?: number }): Promise<StopResult>;
}

/** Result of `hub.stop`. */
export interface StopResult {
  /** Number of events that were still running at the deadline and were released. */
  readonly released: number;
}
