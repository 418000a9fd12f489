import type { JSX } from 'preact';
import type { Counts } from '../../server/dashboard/protocol.js';
import { UNKNOWN } from '../format/count.js';
import { Count } from './count.js';
import { Stat, type StatProps } from './stat.js';

/** Counter of a hub, an event type or a workflow. */
export type Counter = Exclude<keyof Counts, 'lastReceivedAt' | 'lastFailedAt'> | 'deduplicated' | 'processes';

/** Label, icon and colour of each counter. */
export const COUNTER_LOOK: Record<Counter, Omit<StatProps, 'children'>> = {
  received: { label: 'Received', icon: 'dot', tone: 'received', title: 'Events accepted' },
  completed: { label: 'Completed', icon: 'check', tone: 'completed', title: 'Events whose last attempt succeeded' },
  failed: { label: 'Failed', icon: 'triangle', tone: 'failed', title: 'Events whose last attempt failed' },
  cancelled: { label: 'Cancelled', title: 'Events that were cancelled; part of the failed ones' },
  pending: { label: 'Pending', title: 'Events that have not ended: waiting, delayed or running' },
  active: { label: 'Active', title: 'Handlers running now' },
  delayed: { label: 'Delayed', title: 'Events that wait for their time or their retry' },
  suspended: { label: 'Suspended', title: 'Runs that wait for time, an event or a child run' },
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
