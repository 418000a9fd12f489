import type { StepContext } from '../../definition/step-context.js';

type ElementFunction = (element: unknown, ctx: StepContext, index: number) => unknown;

/** Runs one element as a step and resolves with its result. `call` makes the step's function of the user's. */
type RunElement = (index: number, call: (fn: ElementFunction) => (ctx: StepContext) => unknown) => Promise<unknown>;

/**
 * Runs elements with at most `concurrency` at once, and resolves with their results in the order of the elements. After
 * a failure no further element starts; the running ones end before it rejects.
 */
export async function mapElements(
  elements: readonly unknown[],
  concurrency: number,
  run: RunElement,
): Promise<readonly unknown[]> {
  const results: unknown[] = new Array(elements.length);
  let next = 0;
  let failure: { readonly error: unknown } | undefined;
  const work = async (): Promise<void> => {
    while (failure === undefined && next < elements.length) {
      const index = next;
      next += 1;
      try {
        results[index] = await run(index, (fn) => (ctx) => fn(elements[index], ctx, index));
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, elements.length) }, work));
  if (failure !== undefined) throw failure.error;
  return results;
}
