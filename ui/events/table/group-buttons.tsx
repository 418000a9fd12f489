import type { JSX } from 'preact';
import type { Navigation } from '../../routing/navigation.js';
import type { EventRow } from '../../store/rows/event-row.js';
import { prefixOf } from './event-groups.js';

export interface GroupButtonsProps {
  readonly rows: ReadonlyMap<string, EventRow>;
  readonly navigation: Navigation;
}

/** Buttons that group the table by prefix, and that collapse or expand all groups. */
export function GroupButtons({ rows, navigation }: GroupButtonsProps): JSX.Element {
  const { group, closed } = navigation.route.value;
  const isGrouped = group === 'prefix';
  return (
    <span class="group-buttons">
      {isGrouped && (
        <button
          type="button"
          class="chip"
          onClick={() => navigation.go({ closed: closed.length > 0 ? [] : prefixesOf(rows) }, { replace: true })}
        >
          {closed.length > 0 ? 'Expand all' : 'Collapse all'}
        </button>
      )}
      <button
        type="button"
        class="chip"
        aria-pressed={isGrouped}
        title="The prefix is the part of a name before its first . : or /"
        onClick={() => navigation.go({ group: isGrouped ? 'none' : 'prefix', closed: [] })}
      >
        Group by prefix
      </button>
    </span>
  );
}

function prefixesOf(rows: ReadonlyMap<string, EventRow>): readonly string[] {
  return [...new Set([...rows.keys()].map(prefixOf))];
}
