/** An event as transports store and deliver it. */
export interface Envelope {
  readonly id: string;
  readonly type: string;
  /** The payload as JSON. */
  readonly body: string;
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
  /** Value of the type's `key` function, computed at emit. Waits and limits per key match on it. */
  readonly key?: string | undefined;
  /** Id of the event or run whose handler, step or outcome emitted this event. */
  readonly causeId?: string | undefined;
  /** Wait of another run of the same service that the end of this run resolves. */
  readonly parent?: { readonly type: string; readonly id: string; readonly wait: string } | undefined;
}
