import type { Slice } from './history.js';

/** A small picture of a history, as path data of an SVG of `SPARK_WIDTH` by `SPARK_HEIGHT`. */
export interface Sparkline {
  /** The line of what was received; empty where nothing was. */
  readonly line: string;
  /** A bar at the foot of every slice in which something failed. */
  readonly failures: string;
}

export const SPARK_WIDTH = 120;
export const SPARK_HEIGHT = 24;

/** Room for the line's own width above and below. */
const MARGIN = 2;

/** Draws slices on a scale of their own, from 0 to their largest. Slices of which nothing is known are left out. */
export function sparkline(slices: readonly Slice[]): Sparkline {
  const step = SPARK_WIDTH / slices.length;
  const rates = slices.map((slice) => (slice.coveredMs > 0 ? slice.received / slice.coveredMs : null));
  const max = Math.max(...rates.map((rate) => rate ?? 0));
  let line = '';
  let failures = '';
  for (const [index, slice] of slices.entries()) {
    const x = Math.round((index + 0.5) * step);
    const rate = rates[index] ?? null;
    if (rate !== null && max > 0) {
      const isStart = index === 0 || rates[index - 1] === null;
      const height = (rate / max) * (SPARK_HEIGHT - 2 * MARGIN);
      line += `${isStart ? 'M' : 'L'}${x} ${Math.round(SPARK_HEIGHT - MARGIN - height)}`;
    }
    if (slice.failed > 0) failures += `M${x} ${SPARK_HEIGHT}v-6`;
  }
  return { line, failures };
}
