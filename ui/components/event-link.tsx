import type { JSX } from 'preact';
import { viewPath } from '../state/route.js';

export interface EventLinkProps {
  readonly type: string;
  /** Whether the type is registered on this hub. */
  readonly isKnown: boolean;
  /** The query that the link keeps. */
  readonly query: string;
  readonly class?: string;
}

/** The name of an event type, as a link to its panel where there is one. */
export function EventLink({ type, isKnown, query, class: name }: EventLinkProps): JSX.Element {
  const text = <bdi>{type}</bdi>;
  return isKnown ? (
    <a class={name} href={viewPath('events', type) + query} title={type}>
      {text}
    </a>
  ) : (
    <span class={name} title="Not registered on this hub">
      {text}
    </span>
  );
}
