import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { rowLink } from '../table/row-link.js';

/**
 * Moves the focus to the panel's title when a person opens the panel or goes on to another type in it, and back to where
 * it was when the panel closes. A page that is opened with its panel leaves the focus alone.
 */
export function usePanelFocus(
  panel: RefObject<HTMLElement | null>,
  title: RefObject<HTMLElement | null>,
  type: string,
): void {
  const shown = useRef(type);
  shown.current = type;
  // Before the next frame: where the page behind the panel is inert, the browser then takes the focus from it.
  useLayoutEffect(() => {
    const opener = document.activeElement;
    const element = panel.current;
    return () => {
      const focused = document.activeElement;
      if (focused !== null && focused !== document.body && element?.contains(focused) !== true) return;
      // The page behind the panel may be inert until the panel is gone.
      queueMicrotask(() => returnTarget(opener, shown.current)?.focus());
    };
  }, []);
  useLayoutEffect(() => {
    if (document.activeElement !== document.body) title.current?.focus();
  }, [type]);
}

/** What had the focus before, or else the type's row, or else the search box. */
function returnTarget(opener: Element | null, type: string): HTMLElement | null {
  if (opener instanceof HTMLElement && opener !== document.body && opener.isConnected) return opener;
  return rowLink(type) ?? document.querySelector<HTMLElement>('.search input');
}
