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
  /** Retain a {@link RunRecord} of each pending event, and of ended ones as `retain` says. */
  readonly keepsRuns?: boolean;
  /** Ended runs to keep. @default 50 completed and 200 failed, of any age */
  readonly retain?: RunRetention;
  /**
   * Type of which each event is accepted as an event of this type too: with the id of `triggeredId`, the same key and
   * payload, the event as its cause, and one more level of depth.
   */
  readonly trigger?: string;
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
