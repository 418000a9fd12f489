import type { StandardSchemaV1 } from '@standard-schema/spec';
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

/** What `createHub` takes. */
export interface HubOptions {
  /** Hubs of one name share the work; hubs of different names each get every event they handle. @default 'hub' */
  service?: string;
  /** @default memoryTransport() */
  transport?: Transport;
  /** Any pino-shaped logger. @default silent */
  logger?: Logger;
  /** Handlers running at once, those of types with a `concurrency` or `rate` of their own aside. @default 100 */
  concurrency?: number;
  /** Largest JSON of one payload, in bytes of UTF-8. @default 524_288 (512 KiB) */
  maxPayloadBytes?: number;
  /** Let `onSuccess`, `onFailure` and `onComplete` form cycles; the depth limit still ends each chain. @default false */
  allowCycles?: boolean;
  /**
   * Only look on: register and emit nothing, and show what the other hubs of the transport have registered.
   * Dead letters of its own `service` it may replay.
   * @default false
   */
  observer?: boolean;
}

/** An event runtime: takes events, runs handlers, retries, counts. */
export interface Hub {
  readonly service: string;
  readonly logger: Logger;
  readonly transport: TransportManager;
  /**
   * Registers an event type, before `start`.
   *
   * @throws {InvalidOptionError | DuplicateNameError | InvalidSchemaError | HubStartedError}
   */
  event<TSchema extends StandardSchemaV1>(
    config: Omit<EventConfig<StandardSchemaV1.InferOutput<TSchema>>, 'schema'> & { schema: TSchema },
  ): EventRef<StandardSchemaV1.InferInput<TSchema>>;
  /** Registers an event type whose payload the type argument names, before `start`. Throws as above. */
  event<TPayload = unknown>(
    config: Omit<EventConfig<TPayload>, 'schema'> & { schema?: JsonSchema },
  ): EventRef<TPayload>;
  /** Registers a workflow, before `start`. @throws {DuplicateNameError | HubStartedError} */
  workflow(workflow: HubWorkflow): HubWorkflow;
  /**
   * Checks follow-up names and begins to run events.
   *
   * @throws {UnknownEventError | EventCycleError | HubStartedError | HubStoppedError}
   */
  start(): Promise<void>;
  emit: Emit;
  /**
   * Starts a run; resolves when it is accepted.
   *
   * @throws {UnknownWorkflowError} and all that `emit` throws
   */
  startWorkflow(workflow: HubWorkflow | string, payload: unknown, options?: EmitOptions): Promise<WorkflowHandle>;
  /** Counts, durations and minutes of one type. @throws {UnknownEventError} */
  metrics(type: string): Promise<EventMetrics>;
  /** The last 20 terminal failures of one type, newest first. @throws {UnknownEventError} */
  failures(type: string): Promise<readonly FailureRecord[]>;
  /**
   * What failed for good of an event type, or of a workflow, in this hub's service, newest first: with its
   * payload, for `replay`. A name stands for the events and the runs of that name.
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
   * Takes a dead letter of this hub's service away and accepts its event again in one step, for this service
   * alone: with the same id, payload, `requestId` and `idempotencyKey`, at its first attempt. It is counted as
   * received once more. A workflow's run goes on at the step that failed. The hub has to run; one that only
   * looks on may replay too.
   *
   * @param id of the dead letter, which is the event's, or the run's
   * @throws {UnknownDeadLetterError | BackpressureError | NotSubscribedError | HubNotStartedError | HubStoppedError}
   */
  replay(id: string): Promise<{ readonly id: string }>;
  /** Everything registered, with counts. */
  introspect(): Promise<HubIntrospection>;
  /** A short string that changes whenever `introspect`, or `metrics` and `failures` of `type`, would. */
  revision(type?: string): Promise<string>;
  /**
   * Takes nothing new, waits up to `drainMs` milliseconds, aborts what still runs and hands it back.
   * Resolves always, the second call with the same result.
   */
  stop(options?: { drainMs?: number }): Promise<StopResult>;
}

/** How a hub stopped. */
export interface StopResult {
  /** Events that were running at the deadline and were handed back. */
  readonly released: number;
}
