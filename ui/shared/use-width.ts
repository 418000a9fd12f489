import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

/** Returns the inner width of an element in pixels; 0 before the first layout. */
export function useWidth(ref: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return;
    const measure = (): void => setWidth(element.clientWidth);
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, [ref]);
  return width;
}

/** Returns the number of pixels per rem. */
export function pixelsPerRem(): number {
  return Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;
}
