import type { JSX } from 'preact';
import { viewPath } from '../routing/route.js';

export interface EventLinkProps {
  readonly type: string;
  /** The query that the link keeps. */
  readonly query: string;
  readonly class?: string;
}

/** The name of an event type, as a link to its panel; which says so where the type is not registered. */
export function EventLink({ type, query, class: name }: EventLinkProps): JSX.Element {
  return (
    <a class={name} href={viewPath('events', type) + query} title={type}>
      <bdi>{type}</bdi>
    </a>
  );
}
