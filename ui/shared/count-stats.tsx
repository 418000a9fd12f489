import type { JSX } from 'preact';
import type { Counts } from '../../server/dashboard/protocol.js';
import { UNKNOWN } from '../format/count.js';
import { Count } from './count.js';
import { Stat, type StatProps } from './stat.js';

/** Counter of a hub, an event type or a workflow. */
export type Counter =
  | Exclude<keyof Counts, 'approvals' | 'oldestPendingAt' | 'lastReceivedAt' | 'lastFailedAt'>
  | 'processes';

/** Label, icon and colour of each counter. */
const COUNTER_LOOK: Record<Counter, Omit<StatProps, 'children'>> = {
  received: { label: 'Received', title: 'Events accepted' },
  completed: { label: 'Completed', title: 'Events whose last attempt succeeded' },
  failed: { label: 'Failed', title: 'Events that ended without success' },
  pending: { label: 'Pending', title: 'Events that have not ended: waiting, delayed, suspended or running' },
  delayed: { label: 'Delayed', title: 'Events that wait for their time' },
  suspended: { label: 'Suspended', title: 'Workflow runs that wait for a time, an event or another run' },
  cancelled: { label: 'Cancelled', title: 'Cancelled events, part of the failed ones' },
  deadLetters: { label: 'Dead letters', title: 'Failed events that were neither replayed nor discarded' },
  active: { label: 'Active', title: 'Handlers running now' },
  retried: { label: 'Retried', title: 'Failed attempts that were retried' },
  processes: { label: 'Processes', title: 'Processes that handle these events' },
  deduplicated: { label: 'Deduplicated', title: 'Events not accepted because their dedupe id was known' },
};

export interface CountStatsProps {
  readonly counters: readonly Counter[];
  /** Values by counter. Missing ones are unknown. */
  readonly counts: { readonly [C in Counter]?: number | undefined } | null;
}

/** Counters with their labels, as entries of a `<dl>`. */
export function CountStats({ counters, counts }: CountStatsProps): JSX.Element {
  return (
    <>
      {counters.map((counter) => {
        const value = counts?.[counter];
        return (
          <Stat key={counter} {...COUNTER_LOOK[counter]}>
            {value === undefined ? UNKNOWN : <Count value={value} />}
          </Stat>
        );
      })}
    </>
  );
}
