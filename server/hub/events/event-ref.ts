declare const payloadType: unique symbol;

/** Reference to a registered event type. Carries the payload type that `emit` accepts for it. */
export interface EventRef<TPayload = unknown> {
  readonly type: string;
  /** Never present at run time: it carries the payload type for the compiler. */
  readonly [payloadType]?: (payload: TPayload) => void;
}
