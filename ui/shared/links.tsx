import type { JSX } from 'preact';
import { viewPath } from '../state/navigation.js';
import { CopyButton } from './copy-button.js';
import { Name } from './name.js';

export interface TypeLinkProps {
  /** @default 'event' */
  readonly kind?: 'event' | 'workflow';
  /** Event type, or name of the workflow. */
  readonly type: string;
  /** Query that the link retains. */
  readonly query: string;
  readonly class?: string;
}

/** Link to an event type or a workflow. */
export function TypeLink({ kind = 'event', type, query, class: name }: TypeLinkProps): JSX.Element {
  return (
    <a
      class={name}
      href={viewPath(kind === 'event' ? 'events' : 'workflows', type) + query}
      title={type}
      aria-label={type}
    >
      <Name>{type}</Name>
    </a>
  );
}

export interface IdLinkProps {
  /** Id of an event or a run. */
  readonly id: string;
  readonly name: 'event' | 'run';
  /** Query that the link retains. */
  readonly query: string;
}

/** Number of characters of an id that are shown. */
const SHOWN = 8;

/** Shortened id that links to the request of an event or a run, with a button that copies the whole of it. */
export function IdLink({ id, name, query }: IdLinkProps): JSX.Element {
  const short = [...id].slice(0, SHOWN).join('');
  return (
    <span class="id-link">
      <a class="short-id" href={viewPath('requests', id) + query} title={`${name} ${id}`}>
        {short}
      </a>
      <CopyButton isIcon label={`Copy the ${name} id ${short}`} text={() => id} />
    </span>
  );
}

export interface RunLinkProps extends Pick<TypeLinkProps, 'type' | 'query'> {
  readonly id: string;
  readonly kind: 'event' | 'workflow';
}

/** Event type or workflow of a run, and the id of the run, as links. */
export function RunLink({ id, kind, type, query }: RunLinkProps): JSX.Element {
  return (
    <>
      <TypeLink class="view-table-name" kind={kind} type={type} query={query} />{' '}
      <IdLink id={id} name={kind === 'workflow' ? 'run' : 'event'} query={query} />
    </>
  );
}
