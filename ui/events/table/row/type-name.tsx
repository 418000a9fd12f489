import type { JSX } from 'preact';

/** Length from which a name gets an ellipsis in its middle if it does not fit. */
const LONG = 24;

/** Number of characters that always show at the end of a long name. */
const TAIL = 10;

/** Name of an event type. A long one that does not fit loses its middle, because types differ at both ends. */
export function TypeName({ type }: { type: string }): JSX.Element {
  const characters = [...type];
  if (characters.length <= LONG) return <bdi class="name-head">{type}</bdi>;
  return (
    <bdi class="name-parts">
      <span class="name-head">{characters.slice(0, -TAIL).join('')}</span>
      <span class="name-tail">{characters.slice(-TAIL).join('')}</span>
    </bdi>
  );
}
