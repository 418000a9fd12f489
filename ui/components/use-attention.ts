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
    const listeners: readonly [string, (event: Event) => void][] = [
      ['pointerenter', () => setPointed(true)],
      ['pointerleave', () => setPointed(false)],
      ['focusin', (event) => setTarget(event.target)],
      ['focusout', () => setTarget(null)],
    ];
    for (const [name, listener] of listeners) element.addEventListener(name, listener);
    return () => {
      for (const [name, listener] of listeners) element.removeEventListener(name, listener);
    };
  }, [ref]);
  const focused = target instanceof HTMLElement ? (target.dataset['type'] ?? null) : null;
  return { isHeld: isPointed || target !== null, focused };
}
