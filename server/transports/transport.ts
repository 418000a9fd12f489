import type { ErrorInfo } from '../errors.js';
import type { BoundedLog } from './bounded-log.js';
import type { Clock } from './clock.js';
import type { Codec } from './codec.js';
import type {
  CommitResult,
  DeclaredEvent,
  Delivery,
  Envelope,
  FailedOutcome,
  Outcome,
  SqlTransaction,
  Subscription,
} from './delivery.js';
import type {
  DeadLetterFilter,
  ErasedPayloads,
  EventRecord,
  KeptEventRecord,
  RecentEvents,
  RequestRecords,
  RunPage,
  RunPageQuery,
  RunRecord,
} from './event-record.js';
import type { KeyValueStore } from './key-values.js';
import type {
  Counts,
  EventMetrics,
  FailureRecord,
  RangeCounts,
  TotalActivity,
  TypeActivity,
  TypeDurations,
} from './statistics/stats.js';

/** Result of publishing an envelope. */
export interface Receipt {
  /** Id of the event; if it was deduplicated, the id of the earlier event. */
  readonly id: string;
  readonly deduplicated: boolean;
  /** Present if no service subscribes to the type, and no run waits for the event or keeps it. It counts as completed. */
  readonly unsubscribed?: true;
}

/** A failed event with everything that a replay needs. */
export interface DeadLetterRecord {
  readonly envelope: Envelope;
  /** Time of the failure in epoch milliseconds. */
  readonly at: number;
  /** Number of the last attempt, from 1. */
  readonly attempt: number;
  readonly error: ErrorInfo;
  /** Step of a run that failed. */
  readonly step?: string | undefined;
}

/** Error of an open dead letter, without its payload. */
export interface DeadLetterError extends Pick<DeadLetterRecord, 'at' | 'attempt' | 'error'> {
  readonly id: string;
  readonly service: string;
  readonly requestId: string;
}

/** Handles one delivery and commits it. Must not throw. */
export type DeliveryHandler = (delivery: Delivery) => void;

/** Options of {@link TransportManager.start}. */
export interface ConsumeOptions {
  /**
   * Limits, triggers and retention of a type are those of the most recently started open connection of the service that
   * subscribes to it, for the backlog too. After the last such connection has closed or died, the last ones remain.
   */
  readonly subscriptions: readonly Subscription[];
  /** Declared types with services to keep their events for. */
  readonly declared?: readonly DeclaredEvent[];
  /** Maximum number of running deliveries on this connection, not counting types with their own worker queue. */
  readonly concurrency: number;
  readonly onDelivery: DeliveryHandler;
  /** Returns the current description of this connection as JSON, for {@link FleetReader.registered}. */
  readonly describe?: () => string;
  /**
   * Returns the state of the process as short JSON, for {@link FleetReader.processes}. Called every few
   * seconds. Unlike the description it may differ in every process.
   *
   * @param active number of handlers that run on this connection, overdue ones included
   */
  readonly describeProcess?: (active: number) => string;
  /**
   * Called before the connection registers: at its start, and again if its registration is gone, perhaps with all stored
   * data. If it rejects, so does `start`.
   */
  readonly onRegister?: () => Promise<void>;
  /**
   * Called in one process of the service when a run of a type that the connection handles drops an event: at most once per
   * run and minute. Not called while no process of the service handles the type.
   */
  readonly onDropped?: (event: DroppedEvent) => void;
  /** Called by `close` when no delivery is left, while the parts still work. Must not reject. */
  readonly onDrained?: () => Promise<void>;
}

/** Event that a run dropped, because it kept too many. */
export interface DroppedEvent {
  readonly runType: string;
  readonly runId: string;
  readonly eventType: string;
  /** Number of events that the run has dropped since its acceptance, this one included. */
  readonly dropped: number;
}

/** Types of which a service starts nothing. */
export interface PausedTypes {
  /** Grows with each change. A call with a lower revision than the last one of the service has no effect. */
  readonly revision: number;
  /** `'all'`: every type of the service. */
  readonly types: readonly string[] | 'all';
}

/** Open connection of a process. */
export interface ConnectedProcess {
  /** Result of `describe`. */
  readonly description: string;
  /** Result of `describeProcess`; `''` if the connection has none. */
  readonly state: string;
}

/** Result of closing a connection. */
export interface CloseResult {
  /** Number of deliveries that were still running at the deadline and were released. */
  readonly released: number;
  /** Number of deliveries with an outcome of which a function was still running at the deadline. */
  readonly overdue: number;
}

/** Counts of one type, in total and per service. */
export interface TypeCounts {
  /** Sum over `services`. */
  readonly total: Counts;
  /** Empty if the type is unknown. */
  readonly services: readonly { readonly service: string; readonly counts: Counts }[];
}

/** Query of {@link EventLookup.overview}. */
export interface OverviewQuery {
  /** Types to count. */
  readonly types: readonly string[];
  /** Types to list runs of. */
  readonly runTypes: readonly string[];
  /** Maximum number of runs per type. */
  readonly runLimit: number;
}

/** Descriptions, counts and runs of a transport at one time. */
export interface Overview {
  /** Same value as {@link FleetReader.registered}. */
  readonly registered: readonly string[];
  /** Counts of `types`, in the same order. */
  readonly counts: readonly TypeCounts[];
  /** Recent activity of `types`, in the same order. */
  readonly activity: readonly TypeActivity[];
  /** Activity of all event types of the transport. */
  readonly total: TotalActivity;
  /** The transport retains the dead letters of this service. */
  readonly retainsDeadLetters: boolean;
  /**
   * Runs of `runTypes`, in the same order: of all services, newest first. A transport may leave out payloads, results
   * and what follows `,"output":` in a checkpoint.
   */
  readonly runs: readonly (readonly RunRecord[])[];
  /** Schedules of all services. */
  readonly schedules: readonly ScheduleRecord[];
}

/**
 * Connection of one service to a transport, in parts: each caller takes the part that it uses. Every method of a part
 * works from the first delivery, which may come before the promise of `start` resolves, until `close` resolves.
 */
export interface TransportManager {
  /** Name of the transport, such as `memory`, `sqlite` or `redis`. */
  readonly name: string;
  readonly service: string;
  readonly clock: Clock;
  readonly counts: CountReader;
  readonly lookup: EventLookup;
  readonly deadLetters: DeadLetterStore;
  readonly runs: RunStore;
  readonly fleet: FleetReader;
  readonly schedules: ScheduleStore;
  readonly kv: KeyValueStore;
  readonly log: BoundedLog;
  /** Codec with which the transport encodes contents; absent if it has none. */
  readonly codec?: Codec | undefined;
  /** Connects and starts to consume. */
  start(options: ConsumeOptions): Promise<void>;
  /**
   * Starts nothing of these types in the service of the connection, in any of its processes, until another call names
   * others. What runs continues, and events are accepted, become due and resolve waits as ever. Called before `start`,
   * it takes effect before the first delivery. Resolves when it is in effect.
   */
  pause(paused: PausedTypes): Promise<void>;
  /**
   * Turn of the event loop that a caller waits for before `publish`, so that a loop of awaited calls leaves time for
   * others; absent if there is none to wait for.
   */
  readonly nextTurn?: Promise<void> | undefined;
  /**
   * Accepts all envelopes or none, each for the service that it names or else for every service that subscribes to its
   * type, and counts them as received. An event without a subscribed service counts as received and completed. A transport that has nothing to await returns no promise, and throws instead of
   * rejecting.
   *
   * @throws {BackpressureError} if the envelopes exceed a limit of the transport
   */
  publish(envelopes: readonly Envelope[]): readonly Receipt[] | Promise<readonly Receipt[]>;
  /**
   * Stores all envelopes in a transaction of the caller. If it commits, a process accepts them, in the order in which it
   * sees them committed. Absent if the store has no such transactions.
   *
   * @throws {BackpressureError} if the committed events exceed a limit of the transport
   * @throws {MissingTransactionError} if no transaction is open
   * @throws {OtherDatabaseError} if the transaction is of another database
   */
  readonly publishWithin?: ((tx: SqlTransaction, envelopes: readonly Envelope[]) => Promise<void>) | undefined;
  /**
   * Drains and closes the connection: starts no further delivery, except those that no other connection could run and
   * that would be lost. Waits up to `drainMs` for running deliveries, then revokes and releases them without counting
   * the attempt.
   */
  close(options: { drainMs: number }): Promise<CloseResult>;
}

/** Counts, durations and histories of types, over all services. */
export interface CountReader {
  /** Returns the counts of several types, in the same order, in one round trip. */
  get(types: readonly string[]): Promise<readonly TypeCounts[]>;
  /** Returns counts, durations and histories of one type, over all services. */
  metrics(type: string): Promise<EventMetrics>;
  /**
   * Returns the counts of types between two times in epoch milliseconds, in one round trip: the whole periods of the
   * finest history that covers them.
   */
  range(types: readonly string[], from: number, to: number): Promise<RangeCounts>;
  /**
   * Returns the durations of types, in the same order, in one round trip: all since the transport began to count them.
   * A transport may begin again when no process uses it, or for a type that nobody used for a week.
   */
  durations(types: readonly string[]): Promise<readonly TypeDurations[]>;
  /** Returns the last 20 terminal failures of the type, newest first. */
  failures(type: string): Promise<readonly FailureRecord[]>;
  /**
   * Returns a string that changes whenever `get`, `metrics`, `failures` or {@link EventLookup.overview} change, for one
   * type or all.
   */
  revision(type?: string): Promise<string>;
}

/** Pending and retained events of all services. */
export interface EventLookup {
  /** Returns the newest pending and retained events of the type over all services, without payloads. */
  recent(type: string): Promise<RecentEvents>;
  /**
   * Returns a page of the pending and retained runs of a type in one service, newest first by acceptance, then of the dead
   * letters whose runs are no longer retained, the latest first. Whatever is accepted or ends between two pages, a run
   * that is retained all the time is on one of them. A transport may leave out payloads and outputs.
   */
  runs(type: string, service: string, query: RunPageQuery): Promise<RunPage>;
  /**
   * Returns the pending or retained events with an id, one per type and service, in one round trip. Retained are the
   * newest ended and the newest failed events of each type and service, dead letters, and runs as their types say.
   *
   * @param options `bodies`: include payloads that are still stored, and the outputs of steps
   */
  find(id: string, options?: { readonly bodies?: boolean }): Promise<readonly EventRecord[]>;
  /** Returns the runs that keep an event with an id until one of their waits takes it, in one round trip. */
  kept(id: string): Promise<readonly KeptEventRecord[]>;
  /** Returns the pending or retained events of a request, over all types and services, in one round trip. */
  request(requestId: string): Promise<RequestRecords>;
  /** Returns descriptions, counts and latest runs in one round trip. */
  overview(query: OverviewQuery): Promise<Overview>;
  /** Returns the errors of at most `limit` open dead letters of the type over all services, newest first. */
  deadLetterErrors(type: string, limit: number): Promise<readonly DeadLetterError[]>;
  /**
   * Removes the dead letters of a request in all services, and input, result and entries of its ended runs. Counts stay.
   */
  erase(requestId: string): Promise<ErasedPayloads>;
}

/** Dead letters, by default those of the service of a connection. */
export interface DeadLetterStore {
  /** Returns at most `limit` dead letters of the type that match the filter, newest first. */
  list(type: string, limit: number, filter?: DeadLetterFilter): Promise<readonly DeadLetterRecord[]>;
  /**
   * Removes a dead letter of a service, by default that of the connection, and accepts its event again in one step, for
   * this service only. The event keeps its id and checkpoints and starts at attempt 1. Returns `false` if there is no such
   * dead letter.
   *
   * @throws {BackpressureError} if the event exceeds a limit of the transport; the dead letter is retained
   * @throws {NotSubscribedError} if the service no longer subscribes to the type; the dead letter is retained
   */
  replay(id: string, service?: string): Promise<boolean>;
}

/**
 * Runs, and the end of runs and events from outside. Methods with a `service` are of the runs of that service, by
 * default of the connection's own.
 */
export interface RunStore {
  /** Returns a run; `undefined` if it is unknown or evicted. */
  get(type: string, id: string, service?: string): Promise<RunRecord | undefined>;
  /**
   * Returns a run with only those of its entries that were recorded from a position on, counted from 0; `undefined` if
   * it is unknown or evicted. A transport may leave out the payload, the result, and what follows `,"output":` in a
   * checkpoint.
   */
  getSince(type: string, id: string, from: number, service?: string): Promise<RunRecord | undefined>;
  /**
   * Returns the runs of several types that wait, per type in the same order, over all services, in one round trip: at
   * most `limit` per type, those with the oldest open approvals first, then suspended ones in no particular order. A
   * transport may leave out payloads and entries.
   */
  waiting(types: readonly string[], limit: number): Promise<readonly (readonly RunRecord[])[]>;
  /**
   * Calls `onChange` after each entry and each wait that any connection records for a run, from the time at which the
   * promise resolves. May call it without a change. Resolves with a function that ends this.
   */
  watch(type: string, id: string, onChange: () => void, service?: string): Promise<() => void>;
  /**
   * Resolves when a run has ended; with `undefined` if the run is unknown. A caller that waits before the end receives
   * it, whatever is retained. A transport may leave out the payload, and what follows `,"output":` in a checkpoint.
   * Rejects with the signal's reason.
   */
  ended(type: string, id: string, signal: AbortSignal, service?: string): Promise<RunRecord | undefined>;
  /**
   * Ends a run from outside, without a dead letter: revokes its lease with `reason` if it is running, as {@link cancel}
   * does, and records the outcome. Its unresolved child runs end too, recursively, each with the error of `outcome` and
   * the `onCancel` of its wait. Returns `already` if the run has ended, `fenced` if it is unknown.
   */
  end(type: string, id: string, outcome: Outcome, reason: Error, service?: string): Promise<CommitResult>;
  /**
   * Ends an event of a service that has not ended, unless it is a run that runs or is suspended, with the outcome that
   * `conclude` returns for it: whichever is recorded first, this outcome or that of the handler, is the one of the event.
   * A handler that runs is revoked with the error of the outcome as its reason. It holds its slots, and that of its key,
   * until it has returned. Child runs that the event waits for end as with {@link end}. Returns `false` if there is no
   * such event.
   */
  cancel(id: string, conclude: (envelope: Envelope) => FailedOutcome, service?: string): Promise<boolean>;
}

/** Open connections of all processes. */
export interface FleetReader {
  /**
   * Returns the descriptions of all open connections in all processes, unordered, at most a few seconds old. Of a
   * service without an open connection that has subscriptions it returns those of the last ones, each with the property
   * `isStopped`: of those that closed or died within 10 minutes before the last of them.
   */
  registered(): Promise<readonly string[]>;
  /** Returns all open connections in all processes, unordered, at most a few seconds old. */
  processes(): Promise<readonly ConnectedProcess[]>;
}

/** A store of events. Hubs of one process may share it; each `connect` creates the connection of one service. */
export interface Transport {
  /** Creates the connection of a service, which is idle until its `start`. */
  connect(options: { service: string; logger: Logger }): TransportManager;
}

/** State of a schedule of one service. */
export interface ScheduleRecord {
  readonly service: string;
  readonly name: string;
  /** Digest of the definition that holds: the one that was opened last. */
  readonly definition: string;
  /** Times of that definition, as text. */
  readonly times: string;
  /** Epoch milliseconds after which due times are to be claimed: the last claimed due time, or the start of the schedule. */
  readonly position: number;
  /** Last claimed due time in epoch milliseconds; `undefined` if none was claimed. */
  readonly lastDue: number | undefined;
  /** An open connection has the schedule. */
  readonly isOpen: boolean;
  /** A connection with other schedules was opened since the last one with this schedule. */
  readonly isRemoved: boolean;
  /** Changes whenever the record does. */
  readonly revision: number;
}

/** A schedule that a connection opens. */
export interface ScheduleOpening extends Pick<ScheduleRecord, 'name' | 'definition' | 'times' | 'position'> {
  /** Revision of the record that the opening was computed from; `undefined` if there was no record. */
  readonly revision: number | undefined;
}

/** A schedule that was set at run time. It belongs to no service. */
export interface StoredSchedule {
  /** Name and key, see `storedScheduleId`. Pages are in its order. */
  readonly id: string;
  /** Random text that changes whenever the schedule is set to other values. */
  readonly definition: string;
  /** As in a {@link ScheduleRecord}. */
  readonly position: number;
  /** As in a {@link ScheduleRecord}. */
  readonly lastDue: number | undefined;
  /** Epoch milliseconds from which {@link ScheduleStore.take} returns the schedule; `undefined` if it is never due again. */
  readonly lookAt: number | undefined;
  /** Options and event of the schedule as text. A codec encodes it. */
  readonly body: string;
}

/** Maximum number of stored schedules of a transport. */
export const maxStoredSchedules = 100_000;

/** Returns the id of a stored schedule: percent-encoded, so that every store sorts ids alike. */
export function storedScheduleId(name: string, key: string | undefined): string {
  return `${encodeURIComponent(name)}/${key === undefined ? '' : encodeURIComponent(key)}`;
}

/** Stored schedules that are due. They are not returned again for `holdMs`, unless they are put or claimed. */
export interface TakenSchedules {
  readonly schedules: readonly StoredSchedule[];
  /** Milliseconds until the next schedule can be taken; `undefined` if there is none. */
  readonly nextInMs: number | undefined;
}

/** Part of the stored schedules, in the order of their ids. */
export interface StoredSchedulePage {
  readonly schedules: readonly StoredSchedule[];
  /** Number of all stored schedules. */
  readonly total: number;
}

/** A due time that a connection claims. */
export interface ScheduleClaim extends Pick<ScheduleRecord, 'name' | 'definition' | 'times'> {
  /**
   * Present for a stored schedule, of which `name` is the id: its new `lookAt`. The claim is `replaced` if the schedule has
   * another definition or was removed.
   */
  readonly stored?: Pick<StoredSchedule, 'lookAt'> | undefined;
  /** Epoch milliseconds. */
  readonly dueAt: number;
  /** Events of the due time, accepted with the claim. */
  readonly events: readonly Envelope[];
}

/** Result of a {@link ScheduleClaim}. Only `claimed` changes state. */
export type ClaimResult =
  | { readonly status: 'claimed' }
  /** The due time is not after `position`. */
  | { readonly status: 'already'; readonly position: number }
  /** Another definition holds, and an open connection has it. */
  | { readonly status: 'replaced' }
  /** The due time is so many milliseconds ahead of the transport's clock. */
  | { readonly status: 'early'; readonly earlyMs: number };

/** Schedules of the service of a connection, and the stored schedules of the transport. */
export interface ScheduleStore {
  /** Returns the schedules of all services. */
  list(): Promise<readonly ScheduleRecord[]>;
  /**
   * Adds this connection to all schedules in one step, sets their definitions and positions, and marks the other
   * schedules of the service as removed; without openings it does nothing. Changes nothing and returns `false` if a
   * record has another revision than its opening. The schedules stay open until the connection closes or dies.
   */
  open(openings: readonly ScheduleOpening[]): Promise<boolean>;
  /**
   * Records a due time as the position of the schedule and accepts its events in one step. A definition without an open
   * connection gives way to the one of the claim. A schedule without a record gets one.
   *
   * @throws {BackpressureError} if the events exceed a limit of the transport; nothing changes
   */
  claim(claim: ScheduleClaim): Promise<ClaimResult>;
  /**
   * Stores a schedule in place of the one of the same id with the expected definition; `undefined` if there is to be none.
   * The later one of the positions holds, and the last due time remains. Changes nothing and returns `changed` if the
   * stored definition is another one, and `full` if there are 100,000.
   */
  put(schedule: Omit<StoredSchedule, 'lastDue'>, expected: string | undefined): Promise<'stored' | 'changed' | 'full'>;
  /** Returns a stored schedule. */
  get(id: string): Promise<StoredSchedule | undefined>;
  /** Returns at most `limit` stored schedules with ids after one; `''` for the first ones. */
  page(after: string, limit: number): Promise<StoredSchedulePage>;
  /** Removes a stored schedule. Returns `false` if there is none. */
  remove(id: string): Promise<boolean>;
  /** Returns at most `limit` stored schedules that are due, by the clock of the transport. */
  take(limit: number, holdMs: number): Promise<TakenSchedules>;
  /**
   * Calls `onEarlier` when {@link take} may return a schedule earlier than it said. May call it without a change.
   * Resolves with a function that ends this.
   */
  watch(onEarlier: () => void): Promise<() => void>;
}

/**
 * Subset of pino's interface that Hubline uses; any logger with these methods works. `fields` identify the subject of
 * the message, such as `eventType`, `eventId`, `attempt` and, for a failure, `err`.
 */
export interface Logger {
  /** Logs details for diagnosis. */
  debug(fields: object, message: string): void;
  /** Logs rare, expected changes, such as a start or a reconnection. */
  info(fields: object, message: string): void;
  /** Logs possible problems, such as a failed attempt that is retried or an unsafe setting. */
  warn(fields: object, message: string): void;
  /** Logs terminal failures, and errors that no caller receives. */
  error(fields: object, message: string): void;
  /** Returns a logger that adds `fields` to every line. If absent, Hubline uses the logger itself. */
  child?(fields: object): Logger;
}

const nothing = (): void => {};

/** Logger without output. */
export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
