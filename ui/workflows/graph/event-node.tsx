import type { JSX } from 'preact';
import { Icon } from '../../controls/icon.js';
import { Count } from '../../shared/count.js';
import { EventLink } from '../../shared/links/event-link.js';
import type { EventRow } from '../../store/rows/event-row.js';

export interface EventNodeProps {
  /** Relation of the event to the workflow, such as "Trigger". */
  readonly relation: string;
  readonly type: string;
  /** `undefined` if the type is not registered on this hub. */
  readonly row: EventRow | undefined;
  /** Query that the link retains. */
  readonly query: string;
}

/** Trigger or follow-up event of a workflow, with its count and a link to its panel. */
export function EventNode({ relation, type, row, query }: EventNodeProps): JSX.Element {
  return (
    <>
      <span class="node-line">
        {relation}
        {row && (
          <span class="node-count tone-received" title="Events received">
            <Icon name="dot" />
            <span class="visually-hidden">Received: </span>
            <Count value={row.view.value.received} />
          </span>
        )}
      </span>
      <EventLink class="node-name" type={type} query={query} />
    </>
  );
}
