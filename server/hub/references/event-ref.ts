declare const emittedType: unique symbol;
declare const storedType: unique symbol;

/**
 * Reference to a registered event type. Carries the payload type that `emit` accepts, and the one that its schema
 * returns, which is what handlers, triggered workflows and `step.waitForEvent` receive.
 */
export interface EventRef<in TPayload = unknown, out TStored = TPayload> {
  readonly type: string;
  /** Type of an emitted payload, for the compiler. Never present at run time. */
  readonly [emittedType]?: (payload: TPayload) => void;
  /** Type of a stored payload, for the compiler. Never present at run time. */
  readonly [storedType]?: () => TStored;
}
