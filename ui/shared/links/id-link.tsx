import type { JSX } from 'preact';
import { CopyButton } from '../../controls/copy-button.js';
import { viewPath } from '../../routing/route.js';

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
      <a class="short-id" href={viewPath('requests', id) + query} title={`Show the request of the ${name} ${id}`}>
        {short}
      </a>
      <CopyButton isIcon label={`Copy the ${name} id ${short}`} text={() => id} />
    </span>
  );
}
