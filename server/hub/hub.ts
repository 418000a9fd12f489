import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { ErasedPayloads } from '../transports/event-record.js';
import type { EventMetrics, FailureRecord } from '../transports/statistics/stats.js';
import type { Logger, TransportManager } from '../transports/transport.js';
import type { Emit, EmitMany, EmitOptions, EventRef, TransactionOption, WorkflowRef } from './events/emit.js';
import type {
  BatchEventConfig,
  BatchEventSettings,
  EventConfig,
  EventDefinition,
  EventSettings,
} from './events/event.js';
import type { Recorded } from './events/payload.js';
import type { JsonSchema } from './events/payload-schema.js';
import type { DeadLetter, DeadLetterOptions, DeadLetterSource } from './introspection/dead-letters.js';
import type { ErrorGroup } from './introspection/error-groups.js';
import type { EventDetails, FindOptions, RecentEventSummaries, RequestDetails } from './introspection/event-search.js';
import type { Backlog, Explanation } from './introspection/explain.js';
import type { Health, HealthOptions, Readiness } from './introspection/health.js';
import type { EventDescription } from './introspection/hub-description.js';
import type { HubIntrospection, RangeIntrospection } from './introspection/introspection.js';
import type { AgentRunIntrospection, WaitSummary } from './introspection/live-state.js';
import type { LostProcess } from './introspection/process-roster.js';
import type { ProcessIntrospection } from './introspection/process-state.js';
import type { RunList, RunListQuery } from './introspection/run-list.js';
import type { SearchQuery, SearchResult } from './introspection/tag-search.js';
import type { WorkflowRuns } from './introspection/workflow-runs.js';
import type { AgentSpend, SpendOptions } from './limits/spend-limit.js';
import type { AlertOptions } from './operate/alerts.js';
import type { ActionOptions, AuditEntry, AuditOptions } from './operate/audit.js';
import type { DecisionOptions } from './operate/decide-approval.js';
import type { Pause, PauseOptions, PauseTarget, ResumeOptions } from './pauses.js';
import type { ForkOptions } from './runs/fork.js';
import type { RunIntrospection, RunQuery } from './runs/run-introspection.js';
import type { SendOptions } from './runs/sent-texts.js';
import type { StreamEvent, StreamOptions } from './runs/stream-run.js';
import type { RunEvent, WatchOptions } from './runs/watch-run.js';
import type { AnyWorkflow } from './runs/workflow.js';
import type { WorkflowHandle } from './runs/workflow-handle.js';
import type { Schedules } from './schedule-states.js';
import type { ScheduleConfig } from './schedules/schedule.js';
import type { WorkOptions, WorkResult } from './work.js';

/** Event hub: accepts events, runs their handlers, retries failures and counts outcomes. */
export interface Hub {
  /** Service (consumer group) of the hub. */
  readonly service: string;
  /** Logger of the options, or one that writes nothing. */
  readonly logger: Logger;
  /** Connection to the transport. `transport.kv` is its key-value store; the other members are for the hub itself. */
  readonly transport: TransportManager;
  /**
   * Registers an event type whose handler receives batches: up to `batch.max` events per call, each after `batch.waitMs` at
   * the latest. Counts, retries, dead letters and cancels stay those of single events. Throws the same errors.
   *
   * @example
   * ```ts
   * hub.event(rowChanged, {
   *   batch: { max: 100, waitMs: 500 },
   *   handler: async (events) => database.insert(events.map(({ payload }) => payload)),
   * });
   * ```
   */
  event<TInput, TPayload>(
    definition: EventDefinition<TInput, TPayload>,
    settings: BatchEventSettings<TPayload>,
  ): EventDefinition<TInput, TPayload>;
  /** Registers an event type with a schema whose handler receives batches. Throws the same errors. */
  event<TSchema extends StandardSchemaV1>(
    config: Omit<BatchEventConfig<StandardSchemaV1.InferOutput<TSchema>>, 'schema'> & { schema: TSchema },
  ): EventRef<StandardSchemaV1.InferInput<TSchema>>;
  /** Registers an event type whose handler receives batches. Throws the same errors. */
  event<TPayload = unknown>(
    config: Omit<BatchEventConfig<Recorded<TPayload>>, 'schema'> & { schema?: JsonSchema },
  ): EventRef<TPayload, Recorded<TPayload>>;
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
  /** Schedules that are set, listed and removed at run time, in any process. */
  readonly schedules: Schedules;
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
   * Ends an event or a run of any service that is pending, also while it runs in another process. An event ends in each
   * service that has it. It fails with {@link CancelledError}, or with {@link WorkflowCancelledError} if it is a run that
   * started; it leaves no dead letter, and emits `onFailure` and `onComplete`.
   *
   * A handler that runs is aborted: `ctx.signal` has the error as its reason, and what the handler emitted is discarded.
   * It keeps its slot, and that of its key, until it has returned or its process has lost its lease.
   *
   * Returns `true` if the end was recorded, which is before the handler has returned; `false` if the event has ended or
   * is unknown: the outcome that is recorded first holds. The hub must run; it may be read-only, and then does not compute
   * the keys of the follow-ups.
   *
   * @param options who cancels, for the audit
   * @throws {InvalidOptionError | HubNotStartedError | HubStoppedError}
   */
  cancel(id: string, options?: ActionOptions): Promise<boolean>;
  /**
   * Starts a run of a workflow: one that this hub registered, or any of which the definition is given, and which another
   * service may run. Resolves when the run is accepted; with `tx`, when its start is part of the caller's transaction. The
   * methods of the handle know that run once the transaction has committed.
   *
   * @throws {UnknownWorkflowError} if the hub has not registered the workflow, and no service is known to run it
   * @throws the errors of `emit`
   */
  startWorkflow<TInput = unknown, TResult = unknown>(
    workflow: WorkflowRef<TInput, TResult> | string,
    input: NoInfer<TInput>,
    options?: EmitOptions & Partial<TransactionOption>,
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
  /**
   * Yields the live output of a run, or of an event, whichever service and process publishes it: what is retained of it
   * from a sequence number on, then each entry as it is stored, and last `end`. Leaving the loop does not stop the run.
   * `missed` stands for entries that were dropped: 10,000 entries and 4 MiB are retained. The loop throws
   * {@link UnknownRunError} if the run is unknown or no longer retained, {@link HubStoppedError} if the hub stops, and the
   * reason of `signal`. The type argument is that of what the run publishes, which is not checked.
   *
   * @example
   * ```ts
   * for await (const event of hub.stream<{ text: string }>(run.runId, { from: 0 })) {
   *   if (event.type === 'data') process.stdout.write(event.data.text);
   * }
   * ```
   * @throws {InvalidOptionError | HubNotStartedError | HubStoppedError}
   */
  stream<TData = unknown>(runId: string, options?: StreamOptions): AsyncIterable<StreamEvent<TData>>;
  /** Returns counts, and the percentiles and histories of a week, of one event type. @throws {UnknownEventError} */
  metrics(type: string): Promise<EventMetrics>;
  /** Returns the last 20 terminal failures of one event type, newest first. @throws {UnknownEventError} */
  failures(type: string): Promise<readonly FailureRecord[]>;
  /**
   * Returns the errors of an event type or a workflow, or of all, as groups with the same name and message apart from
   * numbers, ids and quoted texts: at most the 50 latest per type, of the 200 types that failed last, those seen last
   * first. A name matches the event type and the workflow of that name. Other processes store their failures every second.
   *
   * @example
   * ```ts
   * for (const { name, message, failures } of await hub.errorGroups()) console.log(`${failures} × ${name}: ${message}`);
   * ```
   * @throws {UnknownEventError | InvalidOptionError}
   */
  errorGroups(source?: DeadLetterSource): Promise<readonly ErrorGroup[]>;
  /**
   * Returns the dead letters of an event type or a workflow in one service, by default this hub's, newest first, with their
   * payloads: all, or those of one request, or those of a time.
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
   * of each type and service are, and runs as their workflows say. Takes one round trip, and two more for the progress of what is pending.
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
   * Explains why an event or a run does not run: its delay or retry, what its steps wait for, a pause, a service without a
   * process, or the limit that is reached. Of an event that several services receive it explains the share that is
   * pending.
   *
   * @example
   * ```ts
   * const { blockers } = await hub.explain(eventId);
   * console.log(blockers.map(({ kind, until }) => `${kind} until ${until}`));
   * ```
   * @throws {UnknownEventIdError | InvalidOptionError}
   */
  explain(id: string): Promise<Explanation>;
  /**
   * Returns how many events of a type, or runs of a workflow, wait for a slot, how many arrive and leave per minute, when
   * the backlog is empty at this rate, and what holds it in each service. A name that is both means the event type;
   * pass the result of `createWorkflow` for the workflow.
   *
   * @example
   * ```ts
   * const { waiting, inPerMinute, outPerMinute, bottlenecks } = await hub.backlog('payment.requested');
   * console.log(waiting, inPerMinute - outPerMinute, bottlenecks.map(({ kind }) => kind));
   * ```
   * @throws {UnknownEventError | InvalidOptionError}
   */
  backlog(source: DeadLetterSource): Promise<Backlog>;
  /**
   * Finds the pending and retained events and runs with a tag or a key, over all services, newest first: of event types and
   * workflows that have `tags`. With `group` it tells which of them an incident touched, and by their status if each has
   * ended well since. The index has the newest 20,000 events per type, of the last 30 days.
   *
   * @example
   * ```ts
   * const { events } = await hub.search({ tag: 'customer-17', group: incident.id });
   * const broken = events.filter(({ status }) => status === 'failed');
   * ```
   * @throws {InvalidOptionError}
   */
  search(query: SearchQuery): Promise<SearchResult>;
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
   * `hub.search` no longer finds its events, pending ones included.
   * Key-value entries and payloads that a run of another request waited for are not part of it.
   *
   * The audit keeps its entries.
   *
   * @param options who erases, for the audit
   * @throws {InvalidOptionError}
   */
  erase(request: { requestId: string }, options?: ActionOptions): Promise<ErasedPayloads>;
  /**
   * Removes a dead letter of a service and accepts its event again, atomically and for this service only.
   * The event keeps its id, payload, `requestId` and `idempotencyKey`, restarts at attempt 1, and is counted as
   * received again. A workflow run resumes at the step that failed. The hub must run; it may be read-only.
   *
   * @param id id of the dead letter, which is the id of the event or the run
   * @param options service of the dead letter, and who replays, for the audit
   * @throws {UnknownDeadLetterError | BackpressureError | NotSubscribedError | HubNotStartedError | HubStoppedError}
   * @throws {InvalidOptionError} also if the hub is read-only and has no service, and `options` names none
   */
  replay(id: string, options?: ReplayOptions): Promise<{ readonly id: string }>;
  /**
   * Starts a new run with what a run that has ended recorded before a step: that step and all that follows run again, with
   * new idempotency keys. Waits and child runs without a result start anew, and nothing is emitted again. The new run has
   * the `requestId` of its origin, so that `erase` reaches it, and its id as `causeId`. What ran beside the step and was
   * recorded after its first attempt runs again too. A hub that has not registered the workflow, or the event that the agent
   * handles, passes its `service`. Does not follow the `overlap` of the definition.
   *
   * @example
   * ```ts
   * const { id } = await hub.fork(runId, { fromStep: 'ship', by: 'ada' });
   * ```
   * @param options step, and who forks, for the audit
   * @throws {UnknownRunError | RunNotEndedError | UnknownStepError | UnknownWorkflowError}
   * @throws the errors of `emit`
   */
  fork(runId: string, options: ForkOptions): Promise<{ readonly id: string }>;
  /**
   * Decides on the call of a tool that a run of any service waits for: emits the event that brings the decision. The hub
   * must run; it may be read-only. A decision that another one came before has no effect.
   *
   * @example
   * ```ts
   * await hub.decide(runId, { approved: false, reason: 'above the limit', by: 'ada' });
   * ```
   * @throws {NoApprovalError} unless the run waits for exactly one approval, or for one at `step`
   * @throws {InvalidOptionError | HubNotStartedError | HubStoppedError}
   */
  decide(runId: string, decision: DecisionOptions): Promise<{ readonly step: string }>;
  /**
   * Sends a text to a run of an agent, of any service, which reads it as a message of the user in its next turn: while the
   * run is pending, running or suspended. An answer that would end the run is followed by another turn. Resolves with the
   * id of the text when it is stored; a run reads each id once. At most 16,384 bytes of JSON per text, and 1,000 texts per
   * run. The hub must run; it may be read-only.
   *
   * @example
   * ```ts
   * await hub.send(runId, 'Only flights before noon, please.');
   * ```
   * @throws {UnknownRunError | RunEndedError} if the run does not exist, or has ended
   * @throws {NotAgentRunError} if no agent runs in it
   * @throws {PayloadTooLargeError | BackpressureError} if the text is too large, or there are too many
   * @throws {InvalidOptionError | HubNotStartedError | HubStoppedError}
   */
  send(runId: string, text: string, options?: SendOptions): Promise<{ readonly id: string }>;
  /**
   * Returns the last 1,000 actions of persons and programs on the store, newest first: from the page, the command line, and
   * calls of `pause`, `resume`, `decide`, and of `replay`, `cancel` and `erase` with `by`. All services share them. An entry
   * is stored before its action is carried out, so that no action is missing; one that failed has an entry too.
   *
   * @throws {InvalidOptionError}
   */
  audit(options?: AuditOptions): Promise<readonly AuditEntry[]>;
  /**
   * Pauses an event type, a workflow or a schedule in all services, or a service with all that it handles: nothing of it
   * starts until `resume`, in any process and after restarts. Handlers that run finish, and runs stop before their next
   * step. Events are still accepted, and delays, retries, timeouts of waits, debounce and dedupe windows go on. In effect
   * in this process when the promise resolves, and in all others within a second. A second pause of a target replaces
   * `reason` and `by`. The hub must run; it may be read-only.
   *
   * @example
   * ```ts
   * await hub.pause({ type: 'payment.requested' }, { reason: 'card provider is down', by: 'ada' });
   * await hub.resume({ type: 'payment.requested' }, { by: 'ada' });
   * ```
   * @throws {UnknownTargetError} if no hub of the transport registered the target
   * @throws {InvalidOptionError | HubNotStartedError | HubStoppedError}
   * @throws {BackpressureError} if 1,000 other targets are paused
   */
  pause(target: PauseTarget, options: PauseOptions): Promise<void>;
  /**
   * Ends a pause: what it held starts, and a schedule follows its `catchUp`. Returns `false` if the target is not paused.
   * Pauses are independent: a type of a paused service stays paused.
   *
   * @throws {InvalidOptionError | HubNotStartedError | HubStoppedError}
   */
  resume(target: PauseTarget, options: ResumeOptions): Promise<boolean>;
  /** Returns the pauses that are in effect, the oldest first. */
  pauses(): Promise<readonly Pause[]>;
  /** Returns all registered events, workflows and agents with their counts. */
  introspect(): Promise<HubIntrospection>;
  /**
   * Lists what runs wait for, in all services: approvals of tool calls, events, times, child runs and retries. Reads at
   * most 100 runs per type, those with the oldest approvals first, and returns at most 200 waits.
   */
  waits(): Promise<WaitSummary>;
  /** Lists the running hubs of the transport, by service, with their process as of a few seconds ago. */
  processes(): Promise<readonly ProcessIntrospection[]>;
  /** Lists the processes with handlers that ended in the last hour without `stop`, the latest first: killed or lost ones. */
  lostProcesses(): Promise<readonly LostProcess[]>;
  /**
   * Returns what agents have spent and reserved under their `spendLimits`, over all processes: those of agents that a
   * running hub of the transport has, or has run since its start. Limits with keys need the `key`.
   *
   * @example
   * ```ts
   * const [{ spent, left }] = await hub.spend({ agent: 'support', key: 'acme' });
   * ```
   * @throws {InvalidOptionError}
   */
  spend(options?: SpendOptions): Promise<readonly AgentSpend[]>;
  /**
   * Returns the latest 20 recorded runs of an agent with their turns, tool calls, tokens and cost, newest first: of those
   * among the 20 newest runs of each of up to 50 event types and workflows. Runs without a record, such as `agent.run`
   * without `hubCtx`, are not part of it.
   *
   * @throws {InvalidOptionError}
   */
  agentRuns(agent: string): Promise<readonly AgentRunIntrospection[]>;
  /**
   * Returns the 50 newest runs of a workflow, the 50 that failed last and those that wait longest, in all services, and the
   * graph of the steps that they reached: what a workflow with a function does. Nothing for an unknown workflow.
   *
   * @throws {InvalidOptionError}
   */
  workflowRuns(workflow: string): Promise<WorkflowRuns>;
  /**
   * Lists all retained runs of a workflow, or of an event type that an agent handles, in all services, newest first, in
   * pages: pending ones, ended ones, and dead letters whose runs are no longer retained. Nothing for an unknown name.
   *
   * @throws {InvalidOptionError}
   */
  listRuns(source: WorkflowRef<never> | EventRef<never, unknown> | string, query?: RunListQuery): Promise<RunList>;
  /** Returns the settings and the JSON Schema of an event type of a running hub. @throws {UnknownEventError} */
  describe(type: string): Promise<EventDescription>;
  /**
   * Returns the problems of all hubs of the transport, or of one service, the worst first: failing types, events without a
   * process, backlogs, dead letters and overdue schedules. The dashboard shows the same list. Use {@link ready} for the
   * probe of an orchestrator: a process is not unready because another team's type fails.
   *
   * @example
   * ```ts
   * const { status, problems } = await hub.health({ service: 'payments' });
   * ```
   * @throws {InvalidOptionError}
   */
  health(options?: HealthOptions): Promise<Health>;
  /**
   * Returns if this process works: it has started, its transport answers within 5 seconds and knows it, and it does not
   * drain. Never rejects.
   *
   * @example
   * ```ts
   * app.get('/ready', async (_req, res) => res.status((await hub.ready()).isReady ? 200 : 503).end());
   * ```
   */
  ready(): Promise<Readiness>;
  /**
   * Sends a message about each problem of {@link Hub.health} that lasts: once after `afterMs`, again each `repeatMs`, and
   * when it is resolved. Of the processes of the service that have the alert, one checks each second and sends; if it dies,
   * another one takes over within 5 seconds. Each message is sent at least once, with an id that stays the same if it is
   * sent again. Contains no payload. May be added before `start` and after it, and ends with `stop`.
   *
   * @example
   * ```ts
   * hub.alert({ afterMs: 60_000, repeatMs: 3_600_000, send: ({ status, problem }) => notify(status, problem.kind) });
   * ```
   * @throws {InvalidOptionError | DuplicateNameError}
   */
  alert(options: AlertOptions): void;
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
   * Works for a while, for a process that a cron job, Lambda or Cloud Run starts: starts the hub, consumes events and due
   * times of schedules until nothing is left to do or `forMs` has passed, stops the hub, and resolves with the numbers of
   * what this process did. What is pending afterwards is left to the next call, in a new hub. Rejects as `start` does.
   *
   * @example
   * ```ts
   * const { completed, failed, endedBy } = await hub.work({ forMs: 50_000 });
   * ```
   * @throws {InvalidOptionError | HubStartedError | HubObserverError}
   */
  work(options: WorkOptions): Promise<WorkResult>;
  /**
   * Shuts down gracefully. Starts no further handlers and waits up to `drainMs` milliseconds for running ones: 10,000 by
   * default, without a limit for `Infinity`. Then aborts those that still run and releases their events, without
   * spending an attempt. A second call returns the same result.
   *
   * @throws {InvalidOptionError}
   */
  stop(options?: { drainMs?: number }): Promise<StopResult>;
}

/** Options of `hub.replay`. */
export interface ReplayOptions extends ActionOptions {
  /** Service of the dead letter. @default the service of the hub */
  service?: string;
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
