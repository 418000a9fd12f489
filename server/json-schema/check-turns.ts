// The function itself: fake timers of a test must not stop the checks.
import { setImmediate } from 'node:timers';

// A few milliseconds. A check that takes more ends the turn.
const stepsPerTurn = 20_000;

let left = stepsPerTurn;
let nextTurn: Promise<void> | undefined;

/** Counts steps of a check of a value against a schema, over the whole process. */
export function countSteps(steps: number): void {
  left -= steps;
}

/**
 * Returns the next turn of the event loop if checks have used up this one, so that two values that take long to check
 * do not add up for everybody else. Callers check again then: they continue in the order of their calls, and one of
 * the first may use up the turn.
 */
export function turnToCheck(): Promise<void> | undefined {
  if (left > 0) return undefined;
  nextTurn ??= new Promise((resolve) => {
    setImmediate(() => {
      left = stepsPerTurn;
      nextTurn = undefined;
      resolve();
    });
  });
  return nextTurn;
}
