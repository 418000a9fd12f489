import type { JSX } from 'preact';
import { Select } from '../controls/select.js';
import { formatCount } from '../format/count.js';
import { FILTERS, type Filter } from '../routing/route.js';

const LABEL: Record<Filter, string> = {
  all: 'All',
  problems: 'Needs attention',
  failing: 'Failing',
  active: 'Active',
  idle: 'Idle',
  never: 'Never seen',
};

export interface FilterChipsProps {
  readonly value: Filter;
  /** Number of types per filter; `null` before the first response. */
  readonly counts: Readonly<Record<Filter, number>> | null;
  readonly onChange: (value: Filter) => void;
}

/** Filters of the table by status, with the number of types in each. In little width they are a select box. */
export function FilterChips({ value, counts, onChange }: FilterChipsProps): JSX.Element {
  return (
    <>
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
            {LABEL[filter]} {counts && <span class="chip-count">{formatCount(counts[filter])}</span>}
          </button>
        ))}
      </fieldset>
      <div class="filter-select">
        <Select
          label="Show event types"
          options={FILTERS}
          nameOf={(filter) => `${LABEL[filter]}${counts === null ? '' : ` (${formatCount(counts[filter])})`}`}
          value={value}
          onChange={onChange}
        />
      </div>
    </>
  );
}
