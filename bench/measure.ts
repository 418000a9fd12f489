import type { Row, Target } from './row.js';

/** One way of doing a scenario. */
export interface Contender {
  readonly name: string;
  /** Does it so many times, and resolves when all are done. */
  run(times: number): Promise<void>;
  /** What the row beside this one has to reach. */
  readonly target?: Target;
}

/** A scenario, and who does it. */
export interface Comparison {
  readonly scenario: string;
  readonly unit: string;
  /** How often it is done in a round. */
  readonly times: number;
  /** What is shown of a rate a second. @default the rate itself */
  readonly figure?: (rate: number) => number;
  readonly hubline: Contender['run'];
  readonly peers: readonly Contender[];
}

const rounds = 5;

/**
 * Measures Hubline and its peers, and gives a row for each peer: medians of five rounds. A round goes through
 * all of them in turn, so that a machine that slows down slows all of them down; a first round, not measured,
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

/** The middle value. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
