import type { JSX } from 'preact';
import type { CounterOf } from '../../server/dashboard/protocol.js';
import { exactCount, formatCount, UNKNOWN } from '../format/number.js';

/** Count, shortened if it is large. The title then has the exact value. In tables, 0 stands back. */
export function Count({ value }: { value: number | undefined }): JSX.Element {
  if (value === undefined) return <>{UNKNOWN}</>;
  return (
    <span class="count" data-any={value > 0} title={exactCount(value)}>
      {formatCount(value)}
    </span>
  );
}

/** Counter of a hub, an event type or a workflow. */
export type Counter = CounterOf<'stored' | 'live'> | 'processes';

interface CounterLook {
  /** Absent for a part, whose label is its name. */
  readonly label?: string;
  readonly title?: string;
  /** Counter that includes this one, which is a note to it. */
  readonly of?: Counter;
}

/** Label of each counter, in the order in which they are shown. */
const COUNTER_LOOK: Record<Counter, CounterLook> = {
  received: { label: 'Received' },
  completed: { label: 'Completed' },
  filtered: { of: 'completed', title: 'Refused by a condition' },
  failed: { label: 'Failed' },
  cancelled: { of: 'failed' },
  retried: { label: 'Retried' },
  pending: { label: 'Pending now' },
  active: { of: 'pending' },
  delayed: { of: 'pending' },
  suspended: { of: 'pending', title: 'Wait for a time, event or run' },
  deduplicated: { label: 'Deduplicated', title: 'Their dedupe id was known' },
  deadLetters: { label: 'Dead letters', title: 'Neither replayed nor discarded' },
  processes: { label: 'Processes now' },
};

// `Object.keys` widens the names.
const ALL_COUNTERS = Object.keys(COUNTER_LOOK) as readonly Counter[];

export interface CountStatsProps {
  /** Counters to show. @default all */
  readonly counters?: readonly Counter[];
  /** Values by counter. Missing ones are unknown. */
  readonly counts: { readonly [C in Counter]?: number | undefined } | null;
}

/** Counters with their labels and the parts of each, as entries of a `<dl>`. */
export function CountStats({ counters = ALL_COUNTERS, counts }: CountStatsProps): JSX.Element {
  return (
    <>
      {counters.map((counter) => {
        const value = counts?.[counter];
        const { label, title, of } = COUNTER_LOOK[counter];
        if (of !== undefined) return null;
        return (
          <div key={counter} title={title}>
            <dt>{label}</dt>
            <dd class={counter === 'failed' && value ? 'tone-failed' : undefined}>
              <Count value={value} />
              {ALL_COUNTERS.map((part) => {
                const look = COUNTER_LOOK[part];
                const count = counts?.[part] ?? 0;
                return (
                  look.of === counter &&
                  count > 0 && (
                    <span key={part} class="panel-period" title={look.title}>
                      {count === value && count > 1 ? 'all' : formatCount(count)} {part}
                    </span>
                  )
                );
              })}
            </dd>
          </div>
        );
      })}
    </>
  );
}

/** Part of a whole as a bar. Decorative: a number beside it says the same. */
export function ShareBar({ share }: { share: number }): JSX.Element {
  return (
    <span class="share">
      <i class="share-part" style={{ transform: `scaleX(${share})` }} />
    </span>
  );
}
