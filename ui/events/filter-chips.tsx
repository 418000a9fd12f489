import type { JSX } from 'preact';
import { formatCount } from '../format/count.js';
import { FILTERS, type Filter } from '../routing/route.js';
import { STATUS_LABEL } from './table/status-badge.js';

export interface FilterChipsProps {
  readonly value: Filter;
  /** Number of types per filter; `null` before the first response. */
  readonly counts: Readonly<Record<Filter, number>> | null;
  readonly onChange: (value: Filter) => void;
}

/** Filters of the table by status, with the number of types in each. */
export function FilterChips({ value, counts, onChange }: FilterChipsProps): JSX.Element {
  return (
    <fieldset class="chips">
      <legend class="visually-hidden">Show event types</legend>
      {FILTERS.map((filter) => (
        <button
          key={filter}
          type="button"
          class={`chip is-${filter}`}
          aria-pressed={filter === value}
          data-any={counts !== null && counts[filter] > 0}
          onClick={() => onChange(filter)}
        >
          {filter === 'all' ? 'All' : STATUS_LABEL[filter]}{' '}
          {counts && <span class="chip-count">{formatCount(counts[filter])}</span>}
        </button>
      ))}
    </fieldset>
  );
}
