/** One way of doing a scenario. */
export interface Contender {
  readonly name: string;
  /** Does the scenario once, with `events` events, and resolves when all of them are done. */
  run(events: number): Promise<void>;
}

/** What a contender achieved. */
export interface Figure {
  readonly name: string;
  readonly eventsPerSecond: number;
}

const rounds = 5;

/**
 * Events a second of each contender, the median of five rounds. Rounds go through all contenders in
 * turn, so that a machine that slows down slows all of them down; a first round, not measured, warms up.
 */
export async function measure(contenders: readonly Contender[], events: number): Promise<Figure[]> {
  const samples = new Map<string, number[]>(contenders.map(({ name }) => [name, []]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const { name, run } of contenders) {
      const startedAt = performance.now();
      await run(events);
      if (round > 0) samples.get(name)?.push((events / (performance.now() - startedAt)) * 1000);
    }
  }
  return contenders.map(({ name }) => ({ name, eventsPerSecond: median(samples.get(name) ?? []) }));
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
