import type { ErrorInfo } from '../errors.js';
import type { Clock } from './clock.js';
import type { KeyValueStore } from './key-value-store.js';
import type { Logger } from './logger.js';
import type { Counts, EventMetrics, FailureRecord } from './stats.js';

/** An event as transports carry it. */
export interface Envelope {
  readonly id: string;
  readonly type: string;
  /** The payload's JSON. */
  readonly body: string;
  readonly requestId: string;
  /** How many events led to this one; 0 for an event from outside. */
  readonly depth: number;
  /** Not before so many milliseconds from acceptance. */
  readonly delayMs: number;
  /** Higher starts first within its type. */
  readonly priority: number;
  /** How often it failed for good and was replayed. */
  readonly replays: number;
  /** A second event of the type with the same id is not accepted for `windowMs`. */
  readonly dedupe: { readonly id: string; readonly windowMs: number } | undefined;
  /** Of which trace it is part, as the application's propagator wrote it. */
  readonly trace?: Readonly<Record<string, string>> | undefined;
  /** Value of the type's `key` function, computed at emit. Waits and limits per key match on it. */
  readonly key?: string | undefined;
  /** Id of the event or run whose handler, step or outcome emitted this event. */
  readonly causeId?: string | undefined;
  /** Wait of another run of the same service that the end of this run resolves. */
  readonly parent?: { readonly type: string; readonly id: string; readonly wait: string } | undefined;
}

/** What became of a published envelope. `id` is the earlier event's where it was deduplicated. */
export interface Receipt {
  readonly id: string;
  readonly deduplicated: boolean;
}

/** At most `max` starts in `perMs` milliseconds. */
export interface RateLimit {
  readonly max: number;
  readonly perMs: number;
}

/**
 * A type that a connection handles. One with `concurrency` or `rate` runs in a lane of its own;
 * all others share the connection's `concurrency`.
 */
export interface Subscription {
  readonly type: string;
  /** Handlers running at once, over all connections of the service. */
  readonly concurrency?: number;
  /** Starts, over all connections of the service. */
  readonly rate?: RateLimit;
  /** Keep a {@link RunRecord} of each of its events: of those that are pending, and the last 50 that ended. */
  readonly keepsRuns?: boolean;
  /** Ended runs to keep. @default 50 completed and 200 failed, of any age */
  readonly retain?: RunRetention;
  /** Accept under this type a copy of every event of another one, its id followed by `idSuffix`. */
  readonly trigger?: { readonly type: string; readonly idSuffix: string };
}

/** Number of ended runs that a service keeps of a workflow, and the time it keeps them. */
export interface RunRetention {
  readonly completed: number;
  readonly failed: number;
  /** Milliseconds since the end of a run; `undefined` keeps runs regardless of their age. */
  readonly ageMs?: number | undefined;
}

/**
 * Condition that a run waits for. Whichever of `delayMs`, `event` and `run` comes first resolves it;
 * the transport then records the {@link WaitResolution} as an entry of the run and drops the others.
 */
export interface RunWait {
  /** Key of the recorded resolution, unique within the run. */
  readonly key: string;
  /** Milliseconds until the wait resolves by time, measured by the transport's clock. */
  readonly delayMs?: number | undefined;
  /** Next accepted event of the type, with this key; any event of the type if `key` is `undefined`. */
  readonly event?: { readonly type: string; readonly key: string | undefined } | undefined;
  /** Child run, accepted together with the wait for the service of the run alone; its end resolves the wait. */
  readonly run?: Envelope | undefined;
  /** Events accepted if the child run is cancelled with the run that waits for it. */
  readonly onCancel?: readonly Envelope[] | undefined;
  /** Counts a retry of the run's type. */
  readonly isRetry?: boolean | undefined;
}

/** Recorded value of a resolved {@link RunWait}, as JSON. `payload` and `result` are embedded as JSON, not as text. */
export type WaitResolution =
  | { readonly by: 'time' }
  | { readonly by: 'event'; readonly id: string; readonly payload: unknown }
  | { readonly by: 'run'; readonly status: 'completed'; readonly result: unknown }
  | { readonly by: 'run'; readonly status: 'failed'; readonly error: ErrorInfo };

/** How an attempt ended. Follow-ups are published in the same step that records the outcome. */
export type Outcome =
  | {
      readonly status: 'completed';
      readonly durationMs: number;
      readonly followUps: readonly Envelope[];
      /** JSON; kept in the {@link RunRecord}. */
      readonly result?: string;
    }
  | {
      readonly status: 'failed';
      readonly durationMs: number;
      readonly error: ErrorInfo;
      readonly followUps: readonly Envelope[];
      /** What was thrown: for those who observe the hub, and kept by no transport. */
      readonly thrown?: unknown;
    }
  | { readonly status: 'retry'; readonly durationMs: number; readonly delayMs: number; readonly thrown?: unknown }
  /**
   * The run leaves the process until one of its waits resolves. No attempt is spent. `seen` is the number of recorded
   * entries that the delivery knows: if the run has more by now, it becomes ready at once.
   */
  | { readonly status: 'suspended'; readonly durationMs: number; readonly seen: number }
  /** The run becomes ready after `delayMs`, for another process if there is one. No attempt is spent. */
  | { readonly status: 'released'; readonly durationMs: number; readonly delayMs: number };

/**
 * `ok`: recorded. `already`: an outcome of this event was recorded before. `fenced`: the delivery
 * lost its lease, the event belongs to another attempt. Only `ok` changed anything.
 */
export type CommitResult = 'ok' | 'already' | 'fenced';

/** One attempt at one event, leased to a consumer until it commits or loses the lease. */
export interface Delivery {
  readonly envelope: Envelope;
  /** From 1. */
  readonly attempt: number;
  /** Why the event must not be run again: the consumer commits it as failed with this error. */
  readonly refusal: Error | undefined;
  /** Called at most once, when the lease ends before the commit. A consumer sets it. */
  onRevoked: ((reason: Error) => void) | undefined;
  /** Records the outcome, with its follow-up events, in one step. */
  commit(outcome: Outcome): Promise<CommitResult>;
  /** Recorded entries of the run by key, in the order of recording. */
  readonly checkpoints: ReadonlyMap<string, string>;
  /**
   * Records an entry, and accepts the events that it emitted, in one transaction, past `maxPending` if need be.
   * `already`: this delivery recorded the key before (a resent request). `fenced`: the lease is over, or another
   * delivery recorded the key.
   */
  checkpoint(key: string, value: string, emits?: readonly Envelope[]): Promise<CommitResult>;
  /** Stores waits of the run in one transaction. A wait whose key is stored or resolved already is left as it is. */
  wait(waits: readonly RunWait[]): Promise<CommitResult>;
  /**
   * Called for every entry that is recorded while this delivery holds the lease, its own entries included, in the
   * order of recording, and before the promise of `checkpoint` resolves. The engine sets it.
   */
  onRecorded: ((key: string, value: string) => void) | undefined;
}

/** Open wait of a run. */
export interface OpenWait {
  readonly key: string;
  /** Epoch milliseconds at which the wait was stored. */
  readonly since: number;
  /** Epoch milliseconds at which it resolves by time. */
  readonly dueAt?: number | undefined;
  readonly event?: { readonly type: string; readonly key: string | undefined } | undefined;
  /** Id of the child run. */
  readonly runId?: string | undefined;
}

/** What is known of one event of a type that keeps runs. */
export interface RunRecord {
  readonly id: string;
  readonly service: string;
  readonly envelope: Envelope;
  /** Epoch milliseconds. */
  readonly acceptedAt: number;
  /** The attempt that is next, running, or was the last. */
  readonly attempt: number;
  readonly status: 'waiting' | 'active' | 'suspended' | 'completed' | 'failed';
  readonly checkpoints: ReadonlyMap<string, string>;
  readonly waits: readonly OpenWait[];
  /** Epoch milliseconds; `undefined` while the run goes on. */
  readonly endedAt: number | undefined;
  /** JSON, of a run that completed. */
  readonly result: string | undefined;
  /** Of a run that failed. */
  readonly error: ErrorInfo | undefined;
}

/** An event that failed for good, with all that it takes to run it again. */
export interface DeadLetterRecord {
  readonly envelope: Envelope;
  /** Epoch milliseconds of its failure. */
  readonly at: number;
  /** The attempt that failed last, from 1. */
  readonly attempt: number;
  readonly error: ErrorInfo;
}

/** Takes one delivery and commits it. Must not throw. */
export type Consumer = (delivery: Delivery) => void;

/** What {@link TransportManager.start} needs to know. */
export interface ConsumeOptions {
  readonly subscriptions: readonly Subscription[];
  /** Deliveries at once on this connection, lanes of their own aside. */
  readonly concurrency: number;
  readonly consumer: Consumer;
  /** What others may know of this connection now: JSON, for {@link TransportManager.registered}. */
  readonly describe?: () => string;
}

/** What was left when a connection closed. */
export interface CloseResult {
  /** Number of deliveries that were still running at the deadline and were released. */
  readonly released: number;
}

/** Counts of a type, a service at a time. */
export interface TypeCounts {
  /** Summed over `services`. */
  readonly total: Counts;
  /** Empty where nothing is known of the type. */
  readonly services: readonly { readonly service: string; readonly counts: Counts }[];
}

/** What {@link TransportManager.overview} is asked for. */
export interface OverviewQuery {
  /** Whose counts. */
  readonly types: readonly string[];
  /** Whose runs. */
  readonly runTypes: readonly string[];
  /** The most runs of each type. */
  readonly runLimit: number;
}

/** All that is shown of a transport at once. */
export interface Overview {
  /** As {@link TransportManager.registered} answers it. */
  readonly registered: readonly string[];
  /** Of `types`, in their order. */
  readonly counts: readonly TypeCounts[];
  /** Of `runTypes`, in their order: of all services, newest first. */
  readonly runs: readonly (readonly RunRecord[])[];
}

/** One service's connection to a transport. */
export interface TransportManager {
  /** `memory` or `redis`. */
  readonly name: string;
  readonly service: string;
  readonly clock: Clock;
  readonly kv: KeyValueStore;
  /** Connects and begins to consume. */
  start(options: ConsumeOptions): Promise<void>;
  /**
   * Accepts all envelopes or none, each for every service that subscribes to its type, and counts
   * them received. A type that no service subscribes to counts as received and completed.
   *
   * @throws {BackpressureError} where they do not fit
   */
  publish(envelopes: readonly Envelope[]): Promise<readonly Receipt[]>;
  /** Counts of many types, in their order, in one round trip. */
  counts(types: readonly string[]): Promise<readonly TypeCounts[]>;
  /** One type in depth, summed over the services. */
  metrics(type: string): Promise<EventMetrics>;
  /** The type's last 20 terminal failures, newest first. */
  failures(type: string): Promise<readonly FailureRecord[]>;
  /** This service's dead letters of a type, newest first, at most `limit`. */
  deadLetters(type: string, limit: number): Promise<readonly DeadLetterRecord[]>;
  /**
   * Takes a dead letter of this service away and accepts its event again in one step, for this service alone:
   * the same event, with what it checkpointed, at its first attempt. `false` where there is no such letter.
   *
   * @throws {BackpressureError} where it does not fit; the letter is kept
   * @throws {NotSubscribedError} where the service no longer subscribes to its type; the letter is kept
   */
  replay(id: string): Promise<boolean>;
  /** What is registered, its counts and its latest runs, in one round trip. */
  overview(query: OverviewQuery): Promise<Overview>;
  /** A run of this service; `undefined` where it is not known, or no longer. */
  run(type: string, id: string): Promise<RunRecord | undefined>;
  /** Resolves when a run of this service has ended. Rejects with the signal's reason. */
  runEnded(type: string, id: string, signal: AbortSignal): Promise<RunRecord | undefined>;
  /**
   * Ends a run of this service from outside: revokes its lease with `reason`, if it runs, and records
   * the outcome, which leaves no dead letter. Its unresolved child runs end too, recursively, each with the
   * error of `outcome` and the {@link RunWait.onCancel} of its wait. `already` where it has ended, `fenced` where
   * it is not known.
   */
  endRun(type: string, id: string, outcome: Outcome, reason: Error): Promise<CommitResult>;
  /** What every connection that is open now, in any process, tells of itself; a few seconds old at most. In no order. */
  registered(): Promise<readonly string[]>;
  /** Changes whenever an answer of `counts`, `metrics`, `failures` or `overview` would, for one type or any. */
  revision(type?: string): Promise<string>;
  /**
   * Begins no further delivery, unless no other connection could and what waits would be lost. Waits up to
   * `drainMs` for what runs, revokes the rest and hands it back with no attempt spent.
   */
  close(options: { drainMs: number }): Promise<CloseResult>;
}

/** Where events are kept. Hubs of one process may share one: each `connect` is a service's connection. */
export interface Transport {
  /** Makes the connection of a service. It does nothing before its `start`. */
  connect(options: { service: string; logger: Logger }): TransportManager;
}
