import type { Row, Target } from './row.js';

/** Implementation of a scenario. */
export interface Contender {
  readonly name: string;
  /** Runs the scenario `times` times and resolves when all have ended. */
  run(times: number): Promise<void>;
  /** Target of the row that compares Hubline with this contender. */
  readonly target?: Target;
}

/** Scenario and its contenders. */
export interface Comparison {
  readonly scenario: string;
  readonly unit: string;
  /** Number of repetitions per round. */
  readonly times: number;
  /** Converts a rate per second to the shown figure. @default the rate */
  readonly figure?: (rate: number) => number;
  readonly hubline: Contender['run'];
  readonly peers: readonly Contender[];
}

const rounds = 5;

/**
 * Measures Hubline and its peers, and returns one row per peer with the medians of five rounds. Each round runs
 * all contenders in turn, so that a slow phase of the machine affects all of them. A first, unmeasured round
 * warms up.
 */
export async function compare({ scenario, unit, times, figure, hubline, peers }: Comparison): Promise<Row[]> {
  const runs = [hubline, ...peers.map(({ run }) => run)].map((run) => ({ run, rates: [] as number[] }));
  for (let round = 0; round <= rounds; round += 1) {
    for (const { run, rates } of runs) {
      const startedAt = performance.now();
      await run(times);
      if (round > 0) rates.push((times / (performance.now() - startedAt)) * 1000);
    }
  }
  const [own = 0, ...others] = runs.map(({ rates }) => median(rates)).map((rate) => figure?.(rate) ?? rate);
  return peers.map(({ name, target }, index) => ({
    scenario,
    unit,
    hubline: own,
    peer: { name, figure: others[index] ?? 0 },
    ...(target && { target }),
  }));
}

/** Returns the median. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
