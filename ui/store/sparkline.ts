import type { Slice } from './history.js';

/** Small chart of a history, as path data of an SVG of `SPARK_WIDTH` by `SPARK_HEIGHT`. */
export interface Sparkline {
  /** Line of received events; empty if there are none. */
  readonly line: string;
  /** Bar at the bottom of every slice with a failure. */
  readonly failures: string;
}

export const SPARK_WIDTH = 120;
export const SPARK_HEIGHT = 24;

/** Space for the stroke width above and below the line. */
const MARGIN = 2;

/** Draws slices on a scale from 0 to their largest rate. Slices without data are skipped. */
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
