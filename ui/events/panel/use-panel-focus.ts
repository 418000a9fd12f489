import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { rowLink } from '../table/row/row-link.js';

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
