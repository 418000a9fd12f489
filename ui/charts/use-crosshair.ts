import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/** Crosshair and selection of a chart. Indexes are those of its points. */
export interface Crosshair {
  /** Index of the pointed point; `null` if there is none. */
  readonly at: number | null;
  /** First and last index of the selection in progress; `null` if there is none. */
  readonly selecting: readonly [first: number, last: number] | null;
  /** True from the start of a selection on. */
  readonly isSelecting: boolean;
  /** Handlers of the chart. */
  readonly handlers: {
    onPointerDown(event: PointerEvent): void;
    onPointerMove(event: PointerEvent): void;
    onPointerUp(event: PointerEvent): void;
    onPointerLeave(): void;
    onPointerCancel(): void;
    onKeyDown(event: KeyboardEvent): void;
    onBlur(): void;
  };
}

/** Time after which a finger that is held still selects. */
const HOLD_MS = 300;

/**
 * Moves the crosshair by mouse, touch and arrow keys. Dragging with the mouse selects, dragging a finger after it was held
 * still, and arrow keys with Shift and then Enter.
 *
 * @param box element whose width the points share
 * @param count number of points
 * @param onSelect called with the first and the last index of a selection
 */
export function useCrosshair(
  box: RefObject<HTMLElement | null>,
  count: number,
  onSelect: (first: number, last: number) => void,
): Crosshair {
  const [at, setAt] = useState<number | null>(null);
  const [anchor, setAnchor] = useState<number | null>(null);
  const isDragging = useRef(false);
  const hold = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    setAt(null);
    setAnchor(null);
  }, [count]);
  const selecting = anchor === null || at === null || anchor === at ? null : order(anchor, at);
  const indexOf = ({ clientX }: PointerEvent): number => {
    const { left = 0, width = 1 } = box.current?.getBoundingClientRect() ?? {};
    return Math.max(0, Math.min(count - 1, Math.floor(((clientX - left) / width) * count)));
  };
  const end = (): void => {
    clearTimeout(hold.current);
    isDragging.current = false;
    setAnchor(null);
  };
  const clear = (): void => {
    end();
    setAt(null);
  };
  const finish = (): void => {
    if (selecting !== null) onSelect(...selecting);
    end();
  };
  return {
    at,
    selecting,
    isSelecting: anchor !== null,
    handlers: {
      onPointerDown: (event) => {
        const index = indexOf(event);
        setAt(index);
        if (event.button !== 0) return;
        const start = (): void => {
          isDragging.current = true;
          setAnchor(index);
        };
        if (event.pointerType !== 'mouse') {
          hold.current = setTimeout(start, HOLD_MS);
          return;
        }
        start();
        if (event.currentTarget instanceof Element) event.currentTarget.setPointerCapture(event.pointerId);
      },
      onPointerMove: (event) => {
        const index = indexOf(event);
        // A finger that moves at once reads the points.
        if (index !== at) clearTimeout(hold.current);
        setAt(index);
      },
      onPointerUp: () => {
        clearTimeout(hold.current);
        if (isDragging.current) finish();
      },
      onPointerLeave: () => {
        if (!isDragging.current) clear();
      },
      onPointerCancel: clear,
      onKeyDown: (event) => {
        if (event.key === 'Enter' && selecting !== null) finish();
        else if (event.key === 'Escape' && at !== null) clear();
        else {
          const next = targetOf(event.key, at ?? count - 1, at === null, count);
          if (next === null || event.ctrlKey || event.metaKey || event.altKey) return;
          setAnchor(event.shiftKey ? (anchor ?? at ?? next) : null);
          setAt(next);
        }
        event.preventDefault();
      },
      onBlur: clear,
    },
  };
}

/** Returns the index to which a key moves; `null` if it is not a key of the chart. */
function targetOf(key: string, at: number, isFirst: boolean, count: number): number | null {
  if (key === 'Home') return 0;
  if (key === 'End') return count - 1;
  const step =
    key === 'ArrowLeft' ? -1 : key === 'ArrowRight' ? 1 : key === 'PageUp' ? -10 : key === 'PageDown' ? 10 : 0;
  if (step === 0) return null;
  return isFirst ? at : Math.max(0, Math.min(count - 1, at + step));
}

function order(a: number, b: number): readonly [number, number] {
  return a < b ? [a, b] : [b, a];
}
