import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { rowLink } from './row-link.js';

/** Moves the focus among the rows of the table. */
export interface RowFocus {
  /** To the next row (1) or the one before (-1). */
  move(step: 1 | -1): void;
}

/**
 * Lets `handle` move the focus, and returns the row that is about to have it: that row has to be in the document.
 *
 * @param types those of the rows, in their order
 * @param current where to go on from; the first row where it is not among them
 */
export function useRowFocus(
  handle: RefObject<RowFocus | null>,
  types: () => readonly string[],
  current: string | null,
): string | null {
  const [wanted, setWanted] = useState<string | null>(null);
  useLayoutEffect(() => {
    handle.current = {
      move: (step) => {
        const all = types();
        const at = all.indexOf(current ?? '');
        setWanted(all[at === -1 ? 0 : at + step] ?? current);
      },
    };
    return () => {
      handle.current = null;
    };
  });
  useLayoutEffect(() => {
    if (wanted === null) return;
    rowLink(wanted)?.focus();
    setWanted(null);
  }, [wanted]);
  return wanted;
}
