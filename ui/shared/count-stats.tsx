import type { JSX } from 'preact';
import type { Counts } from '../../server/dashboard/protocol.js';
import { UNKNOWN } from '../format/count.js';
import { Count } from './count.js';
import { Stat, type StatProps } from './stat.js';

/** The counters of a hub, of an event type or of a workflow. */
export type Counter = Exclude<keyof Counts, 'lastReceivedAt' | 'lastFailedAt'> | 'deduplicated' | 'processes';

/** What counters are called, and how they look. */
export const COUNTER_LOOK: Record<Counter, Omit<StatProps, 'children'>> = {
  received: { label: 'Received', icon: 'dot', tone: 'received', title: 'Events accepted' },
  completed: { label: 'Completed', icon: 'check', tone: 'completed', title: 'Events whose last attempt succeeded' },
  failed: { label: 'Failed', icon: 'triangle', tone: 'failed', title: 'Events given up' },
  pending: { label: 'Pending', title: 'Accepted and not ended: waiting, delayed or running' },
  active: { label: 'Active', title: 'Handlers running now' },
  retried: { label: 'Retried', title: 'Attempts that failed and were scheduled again' },
  processes: { label: 'Processes', title: 'Running hubs that take this work' },
  deduplicated: { label: 'Deduplicated', title: 'Events whose dedupe id was known' },
};

export interface CountStatsProps {
  readonly counters: readonly Counter[];
  /** What is not in it is not known. */
  readonly counts: { readonly [C in Counter]?: number | undefined } | null;
}

/** Counters with their names, as entries of a `<dl>`. */
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
