const FACTORS = [1, 1.5, 2, 3, 4, 5, 6, 8];

/** The top of a chart's scale: the least round number that is not less than `max`, and 1 where `max` is 0. */
export function niceCeiling(max: number): number {
  if (max <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(max));
  return (FACTORS.find((factor) => factor * power >= max) ?? 10) * power;
}
