const FACTORS = [1, 1.5, 2, 3, 4, 5, 6, 8];

/** Returns the top of a chart's scale: the smallest round number that is not less than `max`; 1 if `max` is 0. */
export function niceCeiling(max: number): number {
  if (max <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(max));
  return (FACTORS.find((factor) => factor * power >= max) ?? 10) * power;
}
