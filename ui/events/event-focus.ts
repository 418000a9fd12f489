import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

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
 * @param onMove called with the event type whose row receives the focus
 */
export function useRowFocus(
  handle: RefObject<RowFocus | null>,
  types: () => readonly string[],
  current: string | null,
  onMove: (type: string) => void,
): string | null {
  const [wanted, setWanted] = useState<string | null>(null);
  useLayoutEffect(() => {
    handle.current = {
      move: (step) => {
        const all = types();
        const at = all.indexOf(current ?? '');
        const next = all[at === -1 ? 0 : at + step] ?? current;
        if (next !== null) onMove(next);
        setWanted(next);
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

/**
 * Moves the focus to the panel's title when the user opens the panel or another type in it, and back when the panel
 * closes. The focus does not move if the page is opened with the panel.
 */
export function usePanelFocus(
  panel: RefObject<HTMLElement | null>,
  title: RefObject<HTMLElement | null>,
  type: string,
): void {
  const shown = useRef(type);
  shown.current = type;
  // Runs before the next frame, in which the browser removes the focus from an inert page.
  useLayoutEffect(() => {
    const opener = document.activeElement;
    const element = panel.current;
    return () => {
      const focused = document.activeElement;
      if (focused !== null && focused !== document.body && element?.contains(focused) !== true) return;
      // The page behind the panel may be inert until the panel is removed.
      queueMicrotask(() => returnTarget(opener, shown.current)?.focus());
    };
  }, []);
  useLayoutEffect(() => {
    if (document.activeElement !== document.body) title.current?.focus();
  }, [type]);
}

/** Returns the element that had the focus before, else the row of the type, else the search box. */
function returnTarget(opener: Element | null, type: string): HTMLElement | null {
  if (opener instanceof HTMLElement && opener !== document.body && opener.isConnected) return opener;
  return rowLink(type) ?? document.querySelector<HTMLElement>('.search input');
}

/** Returns the link in the row of an event type, if the row is in the document. */
function rowLink(type: string): HTMLElement | undefined {
  const links = [...document.querySelectorAll<HTMLElement>('.row-link')];
  return links.find((link) => link.dataset['type'] === type);
}
