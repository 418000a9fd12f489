import fc from 'fast-check';

/** If property tests draw new values, for longer: `npm run test:fuzz`. */
export const isFuzzing = process.env['HUBLINE_FUZZ'] === 'long';

const limitMs = 20_000;
const fuzzing = { numRuns: runs(100), interruptAfterTimeLimit: limitMs };

// `npm test` draws the same values each time: it fails because of a change, not by chance.
fc.configureGlobal(isFuzzing ? fuzzing : { seed: 1 });

/** Returns the number of runs of a property that has `count` runs in `npm test`. */
export function runs(count: number): number {
  return isFuzzing ? count * 1_000 : count;
}

/**
 * Returns a predicate that does nothing after the time limit of `npm run test:fuzz`, so that the run before it ends. An
 * interrupted one would go on beside the next test of its server.
 */
export function untilLimit<T>(predicate: (value: T) => Promise<void>): (value: T) => Promise<void> {
  const endsAt = isFuzzing ? performance.now() + limitMs : Number.POSITIVE_INFINITY;
  return async (value) => {
    if (performance.now() < endsAt) await predicate(value);
  };
}
