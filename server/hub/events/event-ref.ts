declare const payloadType: unique symbol;

/** Reference to a registered event type. Carries the payload type that `emit` accepts for it. */
export interface EventRef<TPayload = unknown> {
  readonly type: string;
  /** Payload type for the compiler. Never present at run time. */
  readonly [payloadType]?: (payload: TPayload) => void;
}
