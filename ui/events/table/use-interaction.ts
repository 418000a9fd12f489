import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/** Whether a person is at something. */
export interface Attention {
  /** Whether the pointer or the focus is within. */
  readonly isHeld: boolean;
  /** The `data-type` of what has the focus. */
  readonly focused: string | null;
}

/** Follows the pointer and the focus in an element. */
export function useAttention(ref: RefObject<HTMLElement | null>): Attention {
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
  const focused = target instanceof HTMLElement ? (target.dataset['type'] ?? null) : null;
  return { isHeld: isPointed || target !== null, focused };
}
