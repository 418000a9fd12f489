import type { RecentMinutes } from '../statistics/recent-minutes.js';
import type { Counts, FailureRecord, TypeActivity } from '../statistics/stats.js';
import { sumCounts } from '../statistics/sum-counts.js';
import type { TypeCounts } from '../transport.js';
import type { PeriodHistory } from './statistics/period-history.js';
import type { TypeQueue } from './type-queue/type-queue.js';

/**
 * Reads the counts and the activity of a type. Returns the same objects until one of their values changes: most types of
 * a hub are idle between two introspections, and objects for thousands of types take longer than all other parts of an
 * introspection.
 */
export class TypeReading {
  readonly #queues: readonly TypeQueue[];
  readonly #history: PeriodHistory;
  #counts: TypeCounts | undefined;
  #activity: TypeActivity | undefined;

  /** @param queues queues of the type, one per service */
  constructor(queues: readonly TypeQueue[], history: PeriodHistory) {
    this.#queues = queues;
    this.#history = history;
  }

  counts(): TypeCounts {
    if (this.#counts !== undefined && this.#isCurrent(this.#counts)) return this.#counts;
    const services = this.#queues.map(({ service, counts }) => ({ service, counts }));
    const [first] = services;
    const isOnly = first !== undefined && services.length === 1;
    this.#counts = { total: isOnly ? first.counts : sumCounts(services.map(({ counts }) => counts)), services };
    return this.#counts;
  }

  /** @param sums of the current minute; it must be empty */
  activity(now: number, sums: RecentMinutes): TypeActivity {
    const recent = this.#history.recent(now, sums);
    const lastFailure = this.#lastFailure();
    if (this.#activity?.recent !== recent || this.#activity.lastFailure !== lastFailure) {
      this.#activity = lastFailure === undefined ? { recent } : { recent, lastFailure };
    }
    return this.#activity;
  }

  #isCurrent({ services }: { readonly services: readonly { readonly counts: Counts }[] }): boolean {
    for (let index = 0; index < this.#queues.length; index += 1) {
      if (this.#queues[index]?.counts !== services[index]?.counts) return false;
    }
    return true;
  }

  #lastFailure(): FailureRecord | undefined {
    let last: FailureRecord | undefined;
    for (const { stats } of this.#queues) {
      const failure = stats.failures[0];
      if (failure !== undefined && (last === undefined || failure.at > last.at)) last = failure;
    }
    return last;
  }
}
