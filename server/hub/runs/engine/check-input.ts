import { SchemaValidationError } from '../../errors.js';
import type { RunDefinition } from '../definition/run-definition.js';

/** Callbacks of {@link checkInput}, one of which is called. */
export interface InputCallbacks {
  onValid(): void;
  /** @param isFinal `final` if the same input fails again */
  onInvalid(error: unknown, isFinal?: 'final'): void;
}

/** Checks an input by the schema of its workflow: at once, unless the schema is asynchronous. */
export function checkInput({ name, input: schema }: RunDefinition, input: unknown, callbacks: InputCallbacks): void {
  if (schema === undefined) {
    callbacks.onValid();
    return;
  }
  const conclude = ({ issues }: Awaited<ReturnType<typeof schema.validate>>): void => {
    if (issues === undefined) callbacks.onValid();
    else callbacks.onInvalid(new SchemaValidationError(name, issues, schema.publicPaths(issues)), 'final');
  };
  try {
    const result = schema.validate(input);
    if (result instanceof Promise) result.then(conclude, (error: unknown) => callbacks.onInvalid(error));
    else conclude(result);
  } catch (error) {
    callbacks.onInvalid(error);
  }
}
