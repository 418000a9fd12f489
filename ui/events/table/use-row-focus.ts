import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { rowLink } from './row/row-link.js';

/** Control of the focus in the table. */
export interface RowFocus {
  /** Moves the focus to the next (1) or previous (-1) row. */
  move(step: 1 | -1): void;
}

/**
 * Sets `handle` to move the focus. Returns the event type whose row is about to receive it: the row must be in the document.
 *
 * @param types returns the event types of the rows, from top to bottom
 * @param current event type from which to move; if no row has it, the first row gets the focus
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
