import type { ErrorInfo } from '../errors.js';

/**
 * Payload of an envelope. Accessor and methods of a class, which TypeScript omits from the type of `{ ...envelope }` as
 * JavaScript omits them from its value: a copy that forgets its `body` does not compile.
 */
export declare abstract class EnvelopePayload {
  /** The payload as JSON. May be made when it is first read. */
  abstract get body(): string;
  /** Returns the size of `body` in bytes of UTF-8, if it is known before `body` is made. */
  size?(): number;
  /** Reduces the payload to its `body`. Called by transports that keep the envelope itself. */
  pack?(): void;
}

/** An event as transports store and deliver it. */
export interface Envelope extends EnvelopePayload {
  readonly id: string;
  readonly type: string;
  readonly requestId: string;
  /** Number of events in the causal chain before this one; 0 for an event from outside. */
  readonly depth: number;
  /** Minimum time from acceptance to the first attempt, in milliseconds. */
  readonly delayMs: number;
  /** Events with a higher priority start first within their type. */
  readonly priority: number;
  /** Number of replays as a dead letter. */
  readonly replays: number;
  /** Deduplication id: for `windowMs` the transport does not accept another event of the type with the same id. */
  readonly dedupe: { readonly id: string; readonly windowMs: number } | undefined;
  /** Trace context, as the application's propagator wrote it. */
  readonly trace?: Readonly<Record<string, string>> | undefined;
  /**
   * Value of the type's `key` function, computed at emit. Waits and limits per key match on it. A codec encodes it with
   * the payload: where that is left out, so is the key.
   */
  readonly key?: string | undefined;
  /** Id of the event or run whose handler, step or outcome emitted this event. */
  readonly causeId?: string | undefined;
  /**
   * Service of a run. It alone receives the run, and retains a `RunRecord` of it, also before its first process starts.
   * Read at acceptance, and not stored. @default every service that subscribes to the type
   */
  readonly service?: string | undefined;
  /**
   * Events that a run keeps from its acceptance on: each that no wait of the run is open for. A later wait for an event of
   * the type and the key takes the oldest one. Bounded by `maxKeptEvents` and `maxKeptBytes`: beyond that the oldest is
   * dropped. Deleted when the run ends. Read at acceptance, and when a dead letter is replayed.
   */
  readonly receives?: readonly AwaitedEvent[] | undefined;
  /**
   * `skip` does not accept the event while one of its type and key that was accepted with an `overlap` is pending in any
   * service: its receipt names that one. `replace` cancels those in all services, in the step that accepts the event, with
   * `CancelledError` and without follow-ups; a handler that runs is revoked as by {@link RunStore.cancel}.
   * Deduplication comes first. Without a key it has no effect. Read at acceptance, and when a dead letter is replayed,
   * which is accepted in any case, and cancels nothing.
   */
  readonly overlap?: 'skip' | 'replace' | undefined;
  /**
   * Reasons to cancel a run, from its acceptance on: an accepted event that one of them matches becomes an {@link Offer}.
   * Read as `receives` is.
   */
  readonly cancelOn?: readonly CancelReason[] | undefined;
  /**
   * Entries that a run has from its acceptance on, in their order: a fork has those of its origin. Such a run resolves no
   * waits, and is not debounced. Read at acceptance, and not stored with the envelope.
   */
  readonly recorded?: readonly (readonly [key: string, value: string])[] | undefined;
  /** Wait of another run of the same service that the end of this run resolves. */
  readonly parent?: { readonly type: string; readonly id: string; readonly wait: string } | undefined;
}

/** Returns the milliseconds between the acceptance of an event and the time from which it waits to start. A replay has none. */
export function delayOf({ delayMs, replays }: Pick<Envelope, 'delayMs' | 'replays'>): number {
  return replays === 0 ? delayMs : 0;
}

/**
 * Stored data of an envelope with every optional field given, as `undefined` if it is absent: code that lists the fields and
 * omits one does not compile.
 */
export type CompleteEnvelope = Omit<
  { readonly [K in keyof Envelope]-?: Envelope[K] },
  'size' | 'pack' | 'service' | 'receives' | 'cancelOn' | 'overlap' | 'recorded'
>;

/** Returns the size of an envelope's payload as JSON, in bytes of UTF-8. */
export function sizeOf(envelope: Envelope): number {
  return envelope.size?.() ?? Buffer.byteLength(envelope.body);
}

/** Returns the envelope as plain data, for a record that others compare or store. */
export function toRecorded(envelope: Envelope): Envelope {
  return { ...envelope, body: envelope.body };
}

/** Next accepted event of the type, with this key; any event of the type if `key` is `undefined`. */
export interface AwaitedEvent {
  readonly type: string;
  /** With a codec, transports store a hash in place of the key. */
  readonly key: string | undefined;
  /** The key that a codec encoded, stored beside its hash. */
  readonly shownKey?: string | undefined;
}

/** Event that cancels a run. */
export interface CancelReason extends AwaitedEvent {
  /** The service of the run decides. Otherwise each event that matches cancels the run. */
  readonly isJudged?: boolean | undefined;
}

/**
 * Event that its run has kept, because the service of the run decides about it: for a wait that is judged, or as a reason
 * to cancel the run. It stays an offer, and a suspended run becomes ready, until {@link Delivery.decide} has the verdict.
 * Of the offers to one wait the next one follows the verdict on the one before.
 */
export interface Offer {
  /** Name of the kept event within its run. */
  readonly kept: string;
  /** Key of the wait; `undefined` for a reason to cancel. */
  readonly wait: string | undefined;
  /** The reason to cancel is judged; `true` for waits. */
  readonly isJudged: boolean;
  /** Id of the event. */
  readonly id: string;
  readonly type: string;
  /** Payload as JSON. */
  readonly body: string;
}

/**
 * Verdict on an offer. `taken` resolves the wait. `refused` leaves the event to other waits of a run that receives it,
 * or else drops it. `failed` records an entry under the key of the wait in place of its resolution.
 */
export type Verdict =
  | { readonly status: 'taken' }
  | { readonly status: 'refused' }
  | { readonly status: 'failed'; readonly entry: string };

/**
 * Condition that a run waits for. Whichever of `delayMs`, `event` and `run` comes first resolves it;
 * the transport then records the {@link WaitResolution} as an entry of the run and drops the others.
 */
export interface RunWait {
  /** Key of the recorded resolution, unique within the run. */
  readonly key: string;
  /** Milliseconds until the wait resolves by time, measured by the transport's clock. */
  readonly delayMs?: number | undefined;
  readonly event?: AwaitedEvent | undefined;
  /** Child run, accepted together with the wait for the service of the run alone; its end resolves the wait. */
  readonly run?: Envelope | undefined;
  /** Events accepted if the child run is cancelled with the run that waits for it. */
  readonly onCancel?: readonly Envelope[] | undefined;
  /** Counts a retry of the run's type. */
  readonly isRetry?: boolean | undefined;
  /**
   * The service of the run decides which events resolve the wait. The run keeps each event that matches until the verdict,
   * within the bounds of `receives`.
   */
  readonly isJudged?: boolean | undefined;
  /** Waits for the decision of a person. Open ones count as `Counts.approvals`. */
  readonly isApproval?: boolean | undefined;
}

/** Recorded value of a resolved {@link RunWait}, as JSON. `payload` and `result` are embedded as JSON, not as text. */
export type WaitResolution =
  | ({ readonly by: 'time' } & WaitTimes)
  | ({ readonly by: 'event'; readonly id: string; readonly payload: unknown } & WaitTimes)
  | ({ readonly by: 'run'; readonly id: string; readonly status: 'completed'; readonly result: unknown } & WaitTimes)
  | ({ readonly by: 'run'; readonly id: string; readonly status: 'failed'; readonly error: ErrorInfo } & WaitTimes);

/** Times of a resolved wait in epoch milliseconds. */
export interface WaitTimes {
  /** Time at which the wait was stored. */
  readonly since: number;
  /** Time at which it was resolved. */
  readonly at: number;
}

/** Outcome of an attempt. The transport publishes `followUps` in the same step that records the outcome. */
export type Outcome =
  | {
      readonly status: 'completed';
      readonly durationMs: number;
      readonly followUps: readonly Envelope[];
      /** JSON, retained in the `RunRecord`. */
      readonly result?: string;
      /**
       * The condition of the service refused the event. Counts as `Counts.filtered` too, takes back the start that a rate
       * counted, has no duration, and leaves no {@link RunRecord}.
       */
      readonly filtered?: boolean;
    }
  | {
      readonly status: 'failed';
      readonly durationMs: number;
      readonly error: ErrorInfo;
      readonly followUps: readonly Envelope[];
      /** Counts as `Counts.cancelled` too, and leaves neither a failure record nor a dead letter. */
      readonly cancelled?: boolean;
      /** Step of the run that failed. */
      readonly step?: string | undefined;
      /** The thrown value, for observers of the hub. Transports do not store it. */
      readonly thrown?: unknown;
    }
  | {
      readonly status: 'retry';
      readonly durationMs: number;
      readonly delayMs: number;
      /** Error of the attempt, retained with the event. */
      readonly error: ErrorInfo;
      readonly thrown?: unknown;
    }
  /**
   * The run leaves the process until one of its waits resolves. No attempt is spent. `seen` is the number of recorded
   * entries that the delivery knows: if the run has more by now, it becomes ready at once.
   */
  | { readonly status: 'suspended'; readonly durationMs: number; readonly seen: number }
  /**
   * The run becomes ready after `delayMs`, for another process if there is one. No attempt is spent. With `version` it
   * needs {@link Subscription.version} of that height: no lower connection receives it from now on.
   */
  | {
      readonly status: 'released';
      readonly durationMs: number;
      readonly delayMs: number;
      readonly version?: number;
    };

/** Outcome of an event that completed. */
export type CompletedOutcome = Extract<Outcome, { readonly status: 'completed' }>;

/** Outcome of an event that failed. */
export type FailedOutcome = Extract<Outcome, { readonly status: 'failed' }>;

/**
 * Result of a commit. `ok`: the change is recorded. `already`: it was recorded before. `fenced`: the delivery lost its
 * lease, and another attempt has the event. Only `ok` changes state.
 */
export type CommitResult = 'ok' | 'already' | 'fenced';

/**
 * Open transaction of the caller in the database of the transport. A client of `pg` is one; `fromDrizzle`, `fromKysely`,
 * `fromKnex` and `fromPrisma` of `hubline/postgres` create one from the transactions of others.
 */
export interface SqlTransaction {
  /** Runs a statement with numbered parameters in the transaction. */
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
}

/** Settings of a transaction in which an attempt ends. */
export interface TransactionSettings {
  /** Isolation level. @default 'read committed' */
  isolation?: 'read committed' | 'repeatable read' | 'serializable';
}

/** Recorded together with the writes of a transaction: an entry of the run, or the outcome of the event. */
export type TransactionRecord =
  | { readonly key: string; readonly value: string; readonly emits: readonly Envelope[] }
  | {
      readonly outcome: CompletedOutcome;
      /** As the argument of {@link Delivery.commit}. */
      readonly handlerEnd: Promise<void>;
    };

/** Aborts an attempt whose lease has ended. Returns a promise of a function that runs on, which must not reject. */
export type RevokedCallback = (reason: Error) => Promise<void> | undefined;

/** One attempt at one event, leased to a consumer until it commits or loses the lease. */
export interface Delivery {
  readonly envelope: Envelope;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** Reason not to run the event again. The consumer commits the event as failed with this error. */
  readonly refusal: Error | undefined;
  /** The condition of the service let the event pass, in this attempt or an earlier one. */
  readonly isAdmitted: boolean;
  /**
   * Records that the condition of the service let the event pass: it is not asked again, also not after a replay. Returns
   * the result without a promise if the transport records it at once.
   */
  admit(): CommitResult | Promise<CommitResult>;
  /** Callback of the consumer, called at most once: if the lease ends before the commit. */
  onRevoked: RevokedCallback | undefined;
  /**
   * Records the outcome and publishes the follow-ups in one step. Returns the result without a promise if the transport
   * records it at once.
   *
   * @param handlerEnd promise of a function that still runs, because it ignored its timeout. The delivery keeps its
   *   concurrency slot, the shared one as well as those of its type and its key, until the promise settles. A run keeps
   *   the shared one alone: its own retry needs the others. Until then `close` waits for it within `drainMs`. The promise
   *   must not reject.
   */
  commit(outcome: Outcome, handlerEnd?: Promise<void>): CommitResult | Promise<CommitResult>;
  /** Recorded entries of the run by key, in the order of recording. */
  readonly checkpoints: ReadonlyMap<string, string>;
  /**
   * Records an entry, and accepts the events that it emitted, in one transaction, past `maxPending` if need be. Returns
   * the result without a promise if the transport records it at once.
   *
   * `already`: this delivery recorded the key before (a resent request). `fenced`: the lease is over, or another
   * delivery recorded the key.
   */
  checkpoint(key: string, value: string, emits?: readonly Envelope[]): CommitResult | Promise<CommitResult>;
  /**
   * Calls `work` in a transaction of the store, and commits it together with the record that `work` returns, if the
   * delivery still holds the lease. A deadlock or a serialization failure calls `work` again. Rejects with what `work`
   * throws, and with the error of a statement that violates a constraint. Absent if the store has no such transactions.
   *
   * @throws {TransportUnavailableError} if it is not known whether the transaction is committed; an event is then released
   */
  readonly transact?:
    | ((
        work: (client: SqlTransaction) => Promise<TransactionRecord>,
        settings: TransactionSettings,
      ) => Promise<CommitResult>)
    | undefined;
  /**
   * Stores waits of the run, each with its child run. A wait whose key is stored or resolved already is left as it is. A
   * process that dies meanwhile may leave the first of many waits stored.
   */
  wait(waits: readonly RunWait[]): Promise<CommitResult>;
  /**
   * Called for every entry that is recorded while this delivery holds the lease, its own entries included, in the
   * order of recording, and before `checkpoint` returns or its promise resolves. The engine sets it.
   */
  onRecorded: ((key: string, value: string) => void) | undefined;
  /** Offers without a verdict, as far as the delivery knows them. */
  readonly offers: readonly Offer[];
  /** Called after `offers` may have changed. The engine sets it. */
  onOffered: (() => void) | undefined;
  /**
   * Records the verdict on an offer, after which `offers` has those that follow. `already` if the run no longer has the
   * offer.
   */
  decide(offer: Offer, verdict: Verdict): CommitResult | Promise<CommitResult>;
}

/**
 * Sets the callbacks of a delivery. V8 creates a function in its old generation if the function expression is assigned
 * to a property at once: everything of the attempt would outlive it, until a full garbage collection.
 */
export function listen(
  delivery: Delivery,
  onRevoked: RevokedCallback,
  onRecorded?: Delivery['onRecorded'],
  onOffered?: Delivery['onOffered'],
): void {
  delivery.onRevoked = onRevoked;
  delivery.onRecorded = onRecorded;
  delivery.onOffered = onOffered;
}

/** Rate limit: at most `max` starts per `perMs` milliseconds. */
export interface RateLimit {
  readonly max: number;
  readonly perMs: number;
}

/**
 * Subscription of a connection to one type. A type with `concurrency` or `rate` has its own worker queue; all others
 * share the connection's `concurrency`.
 */
export interface Subscription {
  readonly type: string;
  /** Maximum number of running handlers, over all connections of the service. */
  readonly concurrency?: number;
  /** Limit on starts, over all connections of the service. */
  readonly rate?: RateLimit;
  /**
   * Keys take turns, and these limits hold for each key, over all connections of the service. An event takes a slot of
   * its key from its first start until it ends, retries and suspensions included. Absent if the type has no `key`.
   */
  readonly perKey?: { readonly concurrency?: number; readonly rate?: RateLimit };
  /**
   * Delay an event until no other event of its key arrived for `ms`, at most `maxMs`. Until then another event replaces
   * its payload and counts as deduplicated.
   */
  readonly debounce?: { readonly ms: number; readonly maxMs?: number };
  /** Version of the workflow: runs that were released for a higher one go to other connections. @default 1 */
  readonly version?: number;
  /** Retain a {@link RunRecord} of each pending event, and of ended ones as `retain` says. */
  readonly retainsRuns?: boolean;
  /** Ended runs to keep. @default 50 completed and 200 failed, of any age */
  readonly retain?: RunRetention;
  /**
   * Types of which each event is accepted as an event of this type too: with the id of `triggeredId`, the same key and
   * payload, the event as its cause, and one more level of depth.
   */
  readonly triggers?: readonly string[];
}

/** Number of ended runs that a service keeps of a workflow, and the time it keeps them. */
export interface RunRetention {
  readonly completed: number;
  readonly failed: number;
  /** Milliseconds since the end of a run; `undefined` keeps runs regardless of their age. */
  readonly ageMs?: number | undefined;
}

/** Event type that is kept for services even if no process of them has started yet. */
export interface DeclaredEvent {
  readonly type: string;
  /** Names of services. Each receives the events that were accepted before its first start. */
  readonly subscribers: readonly string[];
}

const typePrefix = 'workflow\u001f';

/** Returns the event type of a workflow's runs. It contains a control character, which no user's type can. */
export function workflowType(name: string): string {
  return `${typePrefix}${name}`;
}

/** Returns the workflow's name for a type from {@link workflowType}, and `undefined` for any other type. */
export function workflowOf(type: string): string | undefined {
  return type.startsWith(typePrefix) ? type.slice(typePrefix.length) : undefined;
}
