import type { JSX } from 'preact';
import type { Counts } from '../../server/dashboard/protocol.js';
import { UNKNOWN } from '../format/count.js';
import { Count } from './count.js';
import { Stat, type StatProps } from './stat.js';

/** The counters of a hub, of an event type or of a workflow. */
export type Counter = Exclude<keyof Counts, 'lastReceivedAt' | 'lastFailedAt'> | 'deduplicated' | 'processes';

const LOOK: Record<Counter, Omit<StatProps, 'children'>> = {
  received: { label: 'Received', icon: 'dot', tone: 'received' },
  completed: { label: 'Completed', icon: 'check', tone: 'completed' },
  failed: { label: 'Failed', icon: 'triangle', tone: 'failed' },
  pending: { label: 'Pending', title: 'Accepted and not ended: waiting, delayed or running' },
  active: { label: 'Active', title: 'Handlers running now' },
  retried: { label: 'Retried', title: 'Attempts that failed and were scheduled again' },
  processes: { label: 'Processes', title: 'Running hubs that take this work' },
  deduplicated: { label: 'Deduplicated', title: 'Events not accepted because their dedupe id was known' },
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
          <Stat key={counter} {...LOOK[counter]}>
            {value === undefined ? UNKNOWN : <Count value={value} />}
          </Stat>
        );
      })}
    </>
  );
}
