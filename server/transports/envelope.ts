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
  /** Value of the type's `key` function, computed at emit. Waits and limits per key match on it. */
  readonly key?: string | undefined;
  /** Id of the event or run whose handler, step or outcome emitted this event. */
  readonly causeId?: string | undefined;
  /** Wait of another run of the same service that the end of this run resolves. */
  readonly parent?: { readonly type: string; readonly id: string; readonly wait: string } | undefined;
}

/** Returns the size of an envelope's payload as JSON, in bytes of UTF-8. */
export function sizeOf(envelope: Envelope): number {
  return envelope.size?.() ?? Buffer.byteLength(envelope.body);
}

/** Returns the envelope as plain data, for a record that others compare or store. */
export function toRecorded(envelope: Envelope): Envelope {
  return { ...envelope, body: envelope.body };
}
