import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Redact } from '../redaction.js';
import type { ErasedPayloads } from '../transports/event-record.js';
import type { EventMetrics, FailureRecord } from '../transports/statistics/stats.js';
import type { Logger, Transport, TransportManager } from '../transports/transport.js';
import type { Emit, EmitMany, EmitOptions, EventRef, WorkflowRef } from './events/emit.js';
import type { EventConfig, EventDefinition, EventSettings } from './events/event.js';
import type { Recorded } from './events/payload.js';
import type { JsonSchema } from './events/payload-schema.js';
import type { DeadLetter, DeadLetterOptions, DeadLetterSource } from './introspection/dead-letters.js';
import type { EventDetails, FindOptions, RecentEventSummaries, RequestDetails } from './introspection/event-search.js';
import type { Health } from './introspection/health.js';
import type { EventDescription } from './introspection/hub-description.js';
import type { HubIntrospection, RangeIntrospection } from './introspection/introspection.js';
import type { AgentRunIntrospection, ProcessIntrospection, WaitSummary } from './introspection/live-state.js';
import type { RunIntrospection, RunQuery } from './runs/run-introspection.js';
import type { RunEvent, WatchOptions } from './runs/watch-run.js';
import type { AnyWorkflow } from './runs/workflow.js';
import type { WorkflowHandle } from './runs/workflow-handle.js';
import type { ScheduleConfig } from './schedules/schedule.js';

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
   * It can replay dead letters and cancel events and runs of its own `service`.
   * @default false
   */
  observer?: boolean;
  /**
   * Returns name, message and code of an error as they leave the process: in log lines, spans, recorded failures, dead
   * letters and the dashboard. It receives them after the default redaction and before they are cut to 1,024 characters,
   * and the thrown value; of a recorded failure it receives what was recorded. If it throws, message and code are
   * withheld.
   *
   * @example
   * ```ts
   * createHub({ redact: ({ name, message }) => ({ name, message: message.replace(/\S+@\S+/g, '[address]') }) });
   * ```
   * @default messages of errors that the application's code made are shown; those of Node and of packages are replaced
   * by paths, codes and statuses
   */
  redact?: Redact;
}

/** Event hub: accepts events, runs their handlers, retries failures and counts outcomes. */
export interface Hub {
  /** Service (consumer group) of the hub. */
  readonly service: string;
  /** Logger of the options, or one that writes nothing. */
  readonly logger: Logger;
  /** Connection to the transport. `transport.kv` is its key-value store; the other members are for the hub itself. */
  readonly transport: TransportManager;
  /**
   * Registers an event type, here one that `createEvent` defined. Call it before `start`.
   *
   * @throws {InvalidOptionError | DuplicateNameError | InvalidSchemaError | HubStartedError}
   */
  event<TInput, TPayload, TResult>(
    definition: EventDefinition<TInput, TPayload>,
    settings?: EventSettings<TPayload, TResult>,
  ): EventDefinition<TInput, TPayload>;
  /** Registers an event type whose payload has the type of its schema. Throws the same errors. */
  event<TSchema extends StandardSchemaV1, TResult>(
    config: Omit<EventConfig<StandardSchemaV1.InferOutput<TSchema>, TResult>, 'schema'> & { schema: TSchema },
  ): EventRef<StandardSchemaV1.InferInput<TSchema>>;
  /**
   * Registers an event type. The type argument is the type of an emitted payload; the handler receives what JSON makes of
   * it. TypeScript infers no further type beside a given one, so that `onSuccess` is a name here: a reference, which is
   * checked against the result of the handler, needs both types, as in `hub.event<Payload, Result>`, or a definition of
   * `createEvent`. Throws the same errors.
   */
  event<TPayload = unknown>(
    config: Omit<EventConfig<Recorded<TPayload>>, 'schema' | 'onSuccess'> & { schema?: JsonSchema; onSuccess?: string },
  ): EventRef<TPayload, Recorded<TPayload>>;
  /** Registers an event type, with the types of its handler. Throws the same errors. */
  event<TPayload, TResult>(
    config: Omit<EventConfig<TPayload, TResult>, 'schema'> & { schema?: JsonSchema },
  ): EventRef<TPayload>;
  /** Registers a workflow. Call it before `start`. @throws {DuplicateNameError | HubStartedError} */
  workflow<TWorkflow extends AnyWorkflow>(workflow: TWorkflow): TWorkflow;
  /**
   * Registers a schedule, which emits an event or starts a workflow at each of its due times: exactly one per due time
   * over all processes of the service. Call it before `start`, in every process that may run it. A due time waits up to
   * a minute for a process to claim it; then it is missed, see `catchUp`. Of processes with different definitions the
   * one that started last holds.
   *
   * @example
   * ```ts
   * hub.schedule({ name: 'nightly-report', cron: '0 2 * * *', timeZone: 'Europe/Oslo', emit: reportDue, payload: {} });
   * hub.schedule({ name: 'poll', everyMs: 60_000, start: fulfil, payload: (dueAt) => ({ until: dueAt.toISOString() }) });
   * ```
   * @throws {InvalidOptionError | PayloadNotJsonError | DuplicateNameError | HubStartedError}
   */
  schedule<TPayload>(config: ScheduleConfig<TPayload>): void;
  /**
   * Checks follow-ups, triggers and schedules, then starts to consume events. Rejects with the error of the transport
   * if it cannot be used.
   *
   * @throws {UnknownEventError | UnknownWorkflowError | EventCycleError | InvalidOptionError | NoApproverError}
   * @throws {HubStartedError | HubStoppedError}
   */
  start(): Promise<void>;
  emit: Emit;
  emitMany: EmitMany;
  /**
   * Ends an event of this hub's service that has not started or waits for a retry, or a run of a workflow at any time. It
   * fails with {@link CancelledError}, or with {@link WorkflowCancelledError} if it is a run that started; it leaves no
   * dead letter, and emits `onFailure` and `onComplete`. Returns `false` if the event runs, has ended or is unknown. The
   * hub must run; it may be read-only, and then does not compute the keys of the follow-ups.
   *
   * @throws {InvalidOptionError | HubNotStartedError | HubStoppedError}
   */
  cancel(id: string): Promise<boolean>;
  /**
   * Starts a run of a workflow: one that this hub registered, or any of which the definition is given, and which another
   * service may run. Resolves when the run is accepted.
   *
   * @throws {UnknownWorkflowError} if the hub has not registered the workflow, and no service is known to run it
   * @throws the errors of `emit`
   */
  startWorkflow<TInput = unknown, TResult = unknown>(
    workflow: WorkflowRef<TInput, TResult> | string,
    input: NoInfer<TInput>,
    options?: EmitOptions,
  ): Promise<WorkflowHandle<TResult>>;
  /**
   * Returns the handle of a run that was started elsewhere, or before a restart. Does not check that the run exists: the
   * methods of the handle do.
   *
   * @example
   * ```ts
   * const run = hub.workflowHandle(fulfil, runId);
   * const { tracking } = await run.result();
   * ```
   * @throws {UnknownWorkflowError | InvalidOptionError | HubNotStartedError | HubStoppedError}
   */
  workflowHandle<TResult>(workflow: WorkflowRef<never, TResult> | string, runId: string): WorkflowHandle<TResult>;
  /**
   * Returns the state of a run of a workflow that this hub registered, or of which the definition is given: the attempts, times and errors of its steps, and what it waits
   * for. Contains the recorded results only with `outputs: true`. An event that an agent handles is a run too; a name
   * is that of a workflow, or else of an event type.
   *
   * @throws {UnknownWorkflowError | UnknownRunError | InvalidOptionError}
   */
  getRun(
    source: WorkflowRef<never> | EventRef<never, unknown> | string,
    id: string,
    options?: RunQuery,
  ): Promise<RunIntrospection>;
  /**
   * Yields the steps of a run, whichever service and process runs it: those so far, then each one as it is
   * recorded, and last `run-end`. Leaving the loop ends the watch, and not the run. The loop throws
   * {@link UnknownRunError} if the run is unknown or no longer retained, {@link HubStoppedError} if the hub stops, and
   * the reason of `signal`.
   *
   * @example
   * ```ts
   * for await (const event of hub.watch(run.runId)) {
   *   if (event.type === 'step') console.log(event.step.name, event.step.status);
   *   else console.log(event.run.status);
   * }
   * ```
   * @throws {InvalidOptionError | HubNotStartedError | HubStoppedError}
   */
  watch(runId: string, options?: WatchOptions): AsyncIterable<RunEvent>;
  /** Returns counts, and the percentiles and histories of a week, of one event type. @throws {UnknownEventError} */
  metrics(type: string): Promise<EventMetrics>;
  /** Returns the last 20 terminal failures of one event type, newest first. @throws {UnknownEventError} */
  failures(type: string): Promise<readonly FailureRecord[]>;
  /**
   * Returns the dead letters of an event type or a workflow in this hub's service, newest first, with their payloads:
   * all, or those of one request, or those since a time.
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
   * Finds an event or a run by its id, over all types and services: one entry per service that received it, failed ones
   * first. Empty if it is no longer retained: pending events, dead letters, and the newest 50 ended and 50 failed events
   * of each type and service are, and runs as their workflows say. Takes one round trip.
   *
   * @example
   * ```ts
   * const [event] = await hub.find(eventId);
   * console.log(event?.status, event?.attempts.at(-1)?.error?.message);
   * ```
   * @throws {InvalidOptionError}
   */
  find(id: string, options?: FindOptions): Promise<readonly EventDetails[]>;
  /**
   * Returns the retained events and runs of a request, over all types and services, at most 1,000. Their `causeId` makes
   * them a tree.
   *
   * @throws {InvalidOptionError}
   */
  getRequest(requestId: string): Promise<RequestDetails>;
  /**
   * Returns the newest 50 and the newest 50 failed events of an event type or a workflow, without payloads. A name
   * matches the event type and the workflow of that name.
   *
   * @throws {UnknownEventError | InvalidOptionError}
   */
  getRecent(source: DeadLetterSource): Promise<RecentEventSummaries>;
  /**
   * Removes the payloads of one request from everything that has ended, in all services: its dead letters, which can no
   * longer be replayed, and input, result and steps of its retained runs. Counts, errors and times remain. Events that
   * are pending keep their payload, and are counted in the result: cancel them or let them end, then erase again.
   * Key-value entries and payloads that a run of another request waited for are not part of it.
   *
   * @throws {InvalidOptionError}
   */
  erase(request: { requestId: string }): Promise<ErasedPayloads>;
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
   * Lists what runs wait for, in all services: approvals of tool calls, events, times, child runs and retries. Reads at
   * most 100 runs per type, those with the oldest approvals first, and returns at most 200 waits.
   */
  waits(): Promise<WaitSummary>;
  /** Lists the running hubs of the transport, by service, with their process as of a few seconds ago. */
  processes(): Promise<readonly ProcessIntrospection[]>;
  /**
   * Returns the latest 20 recorded runs of an agent with their turns, tool calls, tokens and cost, newest first: of those
   * among the 20 newest runs of each of up to 50 event types and workflows. Runs without a record, such as `agent.run`
   * without `hubCtx`, are not part of it.
   *
   * @throws {InvalidOptionError}
   */
  agentRuns(agent: string): Promise<readonly AgentRunIntrospection[]>;
  /** Returns the settings and the JSON Schema of an event type of a running hub. @throws {UnknownEventError} */
  describe(type: string): Promise<EventDescription>;
  /**
   * Returns the problems of all hubs of the transport, the worst first: failing types, events without a process,
   * backlogs, dead letters and overdue schedules. The dashboard shows the same list.
   *
   * @example
   * ```ts
   * app.get('/ready', async (_req, res) => res.status((await hub.health()).status === 'failing' ? 503 : 200).end());
   * ```
   */
  health(): Promise<Health>;
  /**
   * Returns the counts of all event types between two times in epoch milliseconds, widened to whole minutes within the
   * last hour, periods of 5 minutes within 24 hours, and hours within 7 days.
   *
   * @throws {InvalidOptionError}
   */
  getRange(from: number, to: number): Promise<RangeIntrospection>;
  /**
   * Returns a short string that changes when the result of `introspect` changes, or of `metrics` and `failures` for
   * `type`.
   */
  revision(type?: string): Promise<string>;
  /**
   * Shuts down gracefully. Starts no further handlers and waits up to `drainMs` milliseconds for running ones: 10,000 by
   * default, without a limit for `Infinity`. Then aborts those that still run and releases their events, without
   * spending an attempt. A second call returns the same result.
   *
   * @throws {InvalidOptionError}
   */
  stop(options?: { drainMs?: number }): Promise<StopResult>;
}

/** Result of `hub.stop`. */
export interface StopResult {
  /** Number of events that were still running at the deadline and were released. */
  readonly released: number;
  /**
   * Number of handlers, and of runs with functions of steps, that ignored their `timeoutMs` or the abort of their signal
   * and were still running at the deadline. Their outcome is recorded.
   */
  readonly overdue: number;
}
