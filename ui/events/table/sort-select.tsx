import type { JSX } from 'preact';
import { Select } from '../../controls/select.js';
import type { Navigation } from '../../routing/navigation.js';
import { firstDirection, SORT_KEYS } from '../../routing/route.js';
import { COLUMNS } from './columns.js';

/** Sort order of the table as a select box, for widths at which the table has no column headers. */
export function SortSelect({ navigation }: { navigation: Navigation }): JSX.Element {
  return (
    <div class="sort-select">
      <Select
        label="Sort by"
        options={SORT_KEYS}
        nameOf={(key) => COLUMNS.find((column) => column.key === key)?.label ?? key}
        value={navigation.route.value.sort}
        onChange={(sort) => navigation.go({ sort, dir: firstDirection(sort) })}
      />
    </div>
  );
}
