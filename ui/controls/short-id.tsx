import type { JSX } from 'preact';
import { CopyButton } from './copy-button.js';

/** Number of characters of an id that are shown. */
const SHOWN = 8;

/** Id of an event or a run, shortened, with a button that copies the whole of it. */
export function ShortId({ id, name }: { id: string; name: string }): JSX.Element {
  return (
    <CopyButton isInline label={[...id].slice(0, SHOWN).join('')} title={`Copy the ${name} id ${id}`} text={() => id} />
  );
}
