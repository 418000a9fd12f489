import type { RunRetention, Subscription } from '../../transport.js';
import type { TypeStats } from '../statistics/type-stats.js';
import type { Entry } from './entry.js';
import type { EventLog } from './event-log.js';

/** The part of a queue that a journal stores. */
export interface StoredQueue {
  readonly service: string;
  readonly type: string;
  readonly subscription: Subscription | undefined;
  readonly stats: TypeStats;
  /** `undefined` if no subscription of the type kept runs. */
  readonly runs: { readonly retention: RunRetention } | undefined;
  readonly log: EventLog;
  isDebounced(entry: Entry): boolean;
  /** Called when an entry was stored as a spilled one, or is no longer one. */
  stored(entry: Entry): void;
}
