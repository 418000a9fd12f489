import type { ErrorInfo } from '../errors.js';
import type { Envelope } from './envelope.js';

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
  /** The run becomes ready after `delayMs`, for another process if there is one. No attempt is spent. */
  | { readonly status: 'released'; readonly durationMs: number; readonly delayMs: number };

/** Outcome of an event that failed. */
export type FailedOutcome = Extract<Outcome, { readonly status: 'failed' }>;

/**
 * Result of a commit. `ok`: the change is recorded. `already`: it was recorded before. `fenced`: the delivery lost its
 * lease, and another attempt has the event. Only `ok` changes state.
 */
export type CommitResult = 'ok' | 'already' | 'fenced';

/** One attempt at one event, leased to a consumer until it commits or loses the lease. */
export interface Delivery {
  readonly envelope: Envelope;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** Reason not to run the event again. The consumer commits the event as failed with this error. */
  readonly refusal: Error | undefined;
  /** Callback of the consumer, called at most once: if the lease ends before the commit. */
  onRevoked: ((reason: Error) => void) | undefined;
  /**
   * Records the outcome and publishes the follow-ups in one step. Returns the result without a promise if the transport
   * records it at once.
   *
   * @param handlerEnd promise of a handler that still runs, because it ignored its timeout. The delivery keeps its
   *   concurrency slot, the shared one as well as those of its type and its key, until the promise settles. Until then
   *   `close` waits for it within `drainMs`. The promise must not reject.
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
  /** Stores waits of the run in one transaction. A wait whose key is stored or resolved already is left as it is. */
  wait(waits: readonly RunWait[]): Promise<CommitResult>;
  /**
   * Called for every entry that is recorded while this delivery holds the lease, its own entries included, in the
   * order of recording, and before `checkpoint` returns or its promise resolves. The engine sets it.
   */
  onRecorded: ((key: string, value: string) => void) | undefined;
}

/**
 * Sets the callbacks of a delivery. V8 creates a function in its old generation if the function expression is assigned
 * to a property at once: everything of the attempt would outlive it, until a full garbage collection.
 */
export function listen(
  delivery: Delivery,
  onRevoked: NonNullable<Delivery['onRevoked']>,
  onRecorded?: Delivery['onRecorded'],
): void {
  delivery.onRevoked = onRevoked;
  delivery.onRecorded = onRecorded;
}
