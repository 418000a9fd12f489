declare const inputType: unique symbol;
declare const resultType: unique symbol;

/** Reference to a workflow. Carries the types of the input that starts a run, and of the result. */
export interface WorkflowRef<in TInput = unknown, out TResult = unknown> {
  readonly name: string;
  /** Type of the input, for the compiler. Never present at run time. */
  readonly [inputType]?: (input: TInput) => void;
  /** Type of the result, for the compiler. Never present at run time. */
  readonly [resultType]?: () => TResult;
}
