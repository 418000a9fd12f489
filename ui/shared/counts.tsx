import type { ComponentChildren, JSX } from 'preact';
import type { CounterOf } from '../../server/dashboard/protocol.js';
import { exactCount, formatCount, UNKNOWN } from '../format/number.js';
import { Icon, type IconName } from './icon.js';

/** Count, shortened if it is large. The title then has the exact value. */
export function Count({ value }: { value: number }): JSX.Element {
  return (
    <span class="count" title={exactCount(value)}>
      {formatCount(value)}
    </span>
  );
}

interface StatProps {
  readonly label: string;
  readonly icon?: IconName;
  readonly tone?: 'received' | 'completed' | 'failed' | 'stale';
  readonly title?: string;
  readonly children: ComponentChildren;
}

/** Number with its label, as an entry of a `<dl>`. */
function Stat({ label, icon, tone, title, children }: StatProps): JSX.Element {
  return (
    <div class="stat" title={title}>
      <dt class={tone && `tone-${tone}`}>
        {icon && <Icon name={icon} />}
        {label}
      </dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Counter of a hub, an event type or a workflow. */
export type Counter = CounterOf<'stored' | 'live'> | 'processes';

/** Label, icon and colour of each counter, in the order in which they are shown. */
const COUNTER_LOOK: Record<Counter, Omit<StatProps, 'children'>> = {
  received: { label: 'Received' },
  completed: { label: 'Completed' },
  filtered: {
    label: 'Filtered',
    title: 'Refused by a condition, part of the completed ones',
  },
  failed: { label: 'Failed' },
  retried: { label: 'Retried' },
  pending: { label: 'Pending', title: 'Waiting, delayed, suspended or running' },
  active: { label: 'Active' },
  delayed: { label: 'Delayed' },
  suspended: { label: 'Suspended', title: 'Wait for a time, event or run' },
  deduplicated: { label: 'Deduplicated', title: 'Their dedupe id was known' },
  cancelled: { label: 'Cancelled', title: 'Part of the failed ones' },
  deadLetters: { label: 'Dead letters', title: 'Failed, and neither replayed nor discarded' },
  processes: { label: 'Processes' },
};

// `Object.keys` widens the names.
const ALL_COUNTERS = Object.keys(COUNTER_LOOK) as readonly Counter[];

export interface CountStatsProps {
  /** Counters to show. @default all */
  readonly counters?: readonly Counter[];
  /** Values by counter. Missing ones are unknown. */
  readonly counts: { readonly [C in Counter]?: number | undefined } | null;
}

/** Counters with their labels, as entries of a `<dl>`. */
export function CountStats({ counters = ALL_COUNTERS, counts }: CountStatsProps): JSX.Element {
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
