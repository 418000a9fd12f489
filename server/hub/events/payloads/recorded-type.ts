/** Value inside a recorded result: dates and other objects with `toJSON` become what that returns. */
type RecordedField<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends { toJSON(): infer TJson }
    ? RecordedField<TJson>
    : T extends (...args: never) => unknown
      ? never
      : T extends bigint | symbol
        ? never
        : T extends object
          ? { [K in keyof T]: RecordedField<T[K]> }
          : T;

/**
 * Type of a result after it was recorded as JSON, which is what a step resolves with. A step that returns nothing
 * resolves with `null`, and a `Date` becomes a string.
 */
export type Recorded<T> = unknown extends T ? T : T extends void ? null : RecordedField<T>;
