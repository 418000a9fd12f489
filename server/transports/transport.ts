import type { ErrorInfo } from '../errors.js';
import type { BoundedLog } from './bounded-log.js';
import type { Clock } from './clock.js';
import type {
  CommitResult,
  DeclaredEvent,
  Delivery,
  Envelope,
  FailedOutcome,
  Outcome,
  Subscription,
} from './delivery.js';
import type {
  DeadLetterFilter,
  ErasedPayloads,
  EventRecord,
  RecentEvents,
  RequestRecords,
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
  /** Present if no service subscribes to the type, so that the event counts as completed without a handler. */
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
  /** Connects and starts to consume. */
  start(options: ConsumeOptions): Promise<void>;
  /**
   * Accepts all envelopes or none, each for the service that it names or else for every service that subscribes to its
   * type, and counts them as received. An event without a subscribed service counts as received and completed. A transport that has nothing to await returns no promise, and throws instead of
   * rejecting.
   *
   * @throws {BackpressureError} if the envelopes exceed a limit of the transport
   */
  publish(envelopes: readonly Envelope[]): readonly Receipt[] | Promise<readonly Receipt[]>;
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
   * Returns the pending or retained events with an id, one per type and service, in one round trip. Retained are the
   * newest ended and the newest failed events of each type and service, dead letters, and runs as their types say.
   *
   * @param options `bodies`: include payloads that are still stored, and the outputs of steps
   */
  find(id: string, options?: { readonly bodies?: boolean }): Promise<readonly EventRecord[]>;
  /** Returns the pending or retained events of a request, over all types and services, in one round trip. */
  request(requestId: string): Promise<RequestRecords>;
  /** Returns descriptions, counts and latest runs in one round trip. */
  overview(query: OverviewQuery): Promise<Overview>;
  /**
   * Removes the dead letters of a request in all services, and input, result and entries of its ended runs. Counts stay.
   */
  erase(requestId: string): Promise<ErasedPayloads>;
}

/** Dead letters of the service of a connection. */
export interface DeadLetterStore {
  /** Returns at most `limit` dead letters of the type that match the filter, newest first. */
  list(type: string, limit: number, filter?: DeadLetterFilter): Promise<readonly DeadLetterRecord[]>;
  /**
   * Removes a dead letter and accepts its event again in one step, for this service only. The event keeps its id and
   * checkpoints and starts at attempt 1. Returns `false` if there is no such dead letter.
   *
   * @throws {BackpressureError} if the event exceeds a limit of the transport; the dead letter is retained
   * @throws {NotSubscribedError} if the service no longer subscribes to the type; the dead letter is retained
   */
  replay(id: string): Promise<boolean>;
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
   * Ends a run from outside, without a dead letter: revokes its lease with `reason` if it is running, and records the
   * outcome. Its unresolved child runs end too, recursively, each with the error of `outcome` and the `onCancel` of its
   * wait. Returns `already` if the run has ended, `fenced` if it is unknown.
   */
  end(type: string, id: string, outcome: Outcome, reason: Error, service?: string): Promise<CommitResult>;
  /**
   * Ends an event of the connection's service that is neither running nor suspended, with the outcome that `conclude` returns for it. Child runs
   * that it waits for end as with {@link end}. Returns `false` if there is no such event.
   */
  cancel(id: string, conclude: (envelope: Envelope) => FailedOutcome): Promise<boolean>;
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

/** A due time that a connection claims. */
export interface ScheduleClaim extends Pick<ScheduleRecord, 'name' | 'definition' | 'times'> {
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

/** Schedules of the service of a connection. */
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
