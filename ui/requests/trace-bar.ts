import type { EventDetails, StepStatus } from '../../server/dashboard/protocol.js';

/** State of a row of a trace. */
export type TraceState = EventDetails['status'] | StepStatus | 'interrupted';

/** Part of the time axis. */
export interface Bar {
  /** Epoch milliseconds. */
  readonly from: number;
  readonly to: number;
  readonly tone: 'waiting' | 'running' | 'completed' | 'failed' | 'cancelled' | 'interrupted';
}

/** Time that a trace covers, in epoch milliseconds. */
export interface TraceSpan {
  readonly from: number;
  readonly to: number;
}

/** Returns the time that bars cover, of at least one millisecond. */
export function spanOf(rows: readonly { readonly bars: readonly Bar[] }[]): TraceSpan {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { bars } of rows) {
    for (const bar of bars) {
      from = Math.min(from, bar.from);
      to = Math.max(to, bar.to);
    }
  }
  return from <= to ? { from, to: Math.max(to, from + 1) } : { from: 0, to: 1 };
}

/** Place of a bar on the axis, in percent. */
export interface BarPlace {
  readonly left: number;
  readonly width: number;
}

/** Returns the place of a bar in a span. */
export function placeOf({ from, to }: Bar, span: TraceSpan): BarPlace {
  const percent = (ms: number): number => Math.round((ms / (span.to - span.from)) * 100_000) / 1_000;
  return { left: percent(from - span.from), width: percent(Math.max(0, to - from)) };
}
