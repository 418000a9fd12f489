import type { PeriodCounts } from '../../server/dashboard/protocol.js';
import type { Moment } from './moment.js';
import type { ProblemTypes } from './rows/event-status.js';

/** Counts of the selected range. */
export interface SelectedRange {
  /** Epoch milliseconds. */
  readonly from: number;
  readonly to: number;
  readonly byType: ReadonlyMap<string, PeriodCounts>;
}

/** Parts of the last response that all rows share. */
export interface Reading extends Moment {
  /** Time at which the server read its counts, in epoch milliseconds. */
  readonly hubNow: number;
  /** Time at which the hub started, in epoch milliseconds. */
  readonly startedAt: number | null;
  readonly problems: ProblemTypes;
  /** `null`: rows show the last minutes. */
  readonly range: SelectedRange | null;
}
