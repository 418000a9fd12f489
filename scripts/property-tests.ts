import fc from 'fast-check';

/** If property tests draw new values, for longer: `npm run test:fuzz`. */
export const isFuzzing = process.env['HUBLINE_FUZZ'] === 'long';

const fuzzing = { numRuns: runs(100), interruptAfterTimeLimit: 20_000 };

// `npm test` draws the same values each time: it fails because of a change, not by chance.
fc.configureGlobal(isFuzzing ? fuzzing : { seed: 1 });

/** Returns the number of runs of a property that has `count` runs in `npm test`. */
export function runs(count: number): number {
  return isFuzzing ? count * 1_000 : count;
}
