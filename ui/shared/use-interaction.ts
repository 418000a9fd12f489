import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/** Interaction of the user with an element. */
export interface Interaction {
  /** True if the pointer or the focus is inside. */
  readonly isActive: boolean;
  /** `data-type` of the focused element. */
  readonly focusedType: string | null;
}

/** Tracks the pointer and the focus inside an element. */
export function useInteraction(ref: RefObject<HTMLElement | null>): Interaction {
  const [isPointed, setPointed] = useState(false);
  const [target, setTarget] = useState<EventTarget | null>(null);
  useEffect(() => {
    const element = ref.current;
    if (element === null) return;
    const listeners = new AbortController();
    const untilEnd = { signal: listeners.signal };
    element.addEventListener('pointerenter', () => setPointed(true), untilEnd);
    element.addEventListener('pointerleave', () => setPointed(false), untilEnd);
    element.addEventListener('focusin', (event) => setTarget(event.target), untilEnd);
    element.addEventListener('focusout', () => setTarget(null), untilEnd);
    return () => listeners.abort();
  }, [ref]);
  const focusedType = target instanceof HTMLElement ? (target.dataset['type'] ?? null) : null;
  return { isActive: isPointed || target !== null, focusedType };
}
