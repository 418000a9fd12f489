import type { JSX } from 'preact';
import { viewPath } from '../../routing/route.js';
import { EventLink } from './event-link.js';
import { IdLink } from './id-link.js';

export interface RunLinkProps {
  readonly id: string;
  readonly kind: 'event' | 'workflow';
  /** Event type, or name of the workflow. */
  readonly type: string;
  /** Query that links retain. */
  readonly query: string;
}

/** Event type or workflow of a run, as a link. */
export function TypeLink({ kind, type, query }: Omit<RunLinkProps, 'id'>): JSX.Element {
  if (kind === 'event') return <EventLink class="view-table-name" type={type} query={query} />;
  return (
    <a class="view-table-name" href={viewPath('workflows', type) + query}>
      <bdi>{type}</bdi>
    </a>
  );
}

/** Event type or workflow of a run, and the id of the run, as links. */
export function RunLink({ id, kind, type, query }: RunLinkProps): JSX.Element {
  return (
    <>
      <TypeLink kind={kind} type={type} query={query} />
      <span class="view-table-note">
        <IdLink id={id} name={kind === 'workflow' ? 'run' : 'event'} query={query} />
      </span>
    </>
  );
}
