import type { JSX } from 'preact';
import { viewPath } from '../../routing/route.js';

export interface EventLinkProps {
  readonly type: string;
  /** Query that the link retains. */
  readonly query: string;
  readonly class?: string;
}

/** Link to the panel of an event type. */
export function EventLink({ type, query, class: name }: EventLinkProps): JSX.Element {
  return (
    <a class={name} href={viewPath('events', type) + query} title={type}>
      <bdi>{type}</bdi>
    </a>
  );
}
