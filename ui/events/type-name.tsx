import type { JSX } from 'preact';
import { groupBy } from '../shared/lists.js';

/** Length from which a name is cut in its middle if it does not fit. */
const LONG = 24;

/** Number of characters that always show at the start of a long name. */
const HEAD = 12;

/** Number of characters that always show at the end of a long name. */
const TAIL = 10;

const SEPARATOR = /[._:/\s-]/;

/**
 * Returns where names are parted that would look alike if each lost its middle: they have the same start and the same end.
 * Each is parted at the word in which they begin to differ.
 */
export function partedNames(names: Iterable<string>): ReadonlyMap<string, number> {
  const long = [...names].filter(({ length }) => length > LONG);
  const alike = groupBy(long, (name) => name.slice(0, HEAD) + name.slice(-TAIL));
  const parted = new Map<string, number>();
  for (const group of alike.values()) {
    if (group.length < 2) continue;
    // The first and the last in order have only that in common which all have.
    group.sort();
    const [first, last] = [[...(group[0] ?? '')], [...(group.at(-1) ?? '')]];
    const differing = first.findIndex((character, at) => character !== last[at]);
    const same = differing === -1 ? first.length : differing;
    const word = first.slice(0, same).findLastIndex((character) => SEPARATOR.test(character)) + 1;
    for (const name of group) parted.set(name, same - word > HEAD ? same - 2 : word);
  }
  return parted;
}

export interface TypeNameProps {
  readonly type: string;
  /** Place, in characters, before which the name may be cut. Absent: before its end. */
  readonly partedAt: number | undefined;
}

/** Name of an event type. A long one that does not fit loses its middle, because types differ at both ends. */
export function TypeName({ type, partedAt }: TypeNameProps): JSX.Element {
  const characters = [...type];
  if (characters.length <= LONG) return <bdi class="name-head">{type}</bdi>;
  const at = partedAt ?? characters.length - TAIL;
  return (
    <bdi class="name-parts">
      <span class="name-head">{characters.slice(0, at).join('')}</span>
      <span class="name-tail">{characters.slice(at).join('')}</span>
    </bdi>
  );
}
