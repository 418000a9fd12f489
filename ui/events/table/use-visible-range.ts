import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

/** Indexes of rows, from the first to before the last. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** Up to here all rows are in the document, so that the browser's own search finds them. */
const ALL_UP_TO = 100;

/** Rows stand ready so far beyond the edges. They come and go one by one: many at once would cost a scroll its frame. */
const READY = 10;

/** Which of `count` rows of one height are on the screen or close to it. */
export function useVisibleRange(body: RefObject<HTMLElement | null>, count: number): Range {
  const [seen, setSeen] = useState<Range>({ from: 0, to: ALL_UP_TO });
  const isWhole = count <= ALL_UP_TO;
  useLayoutEffect(() => {
    if (isWhole) return;
    const measure = (): void => {
      const height = body.current?.querySelector('tr')?.offsetHeight ?? 0;
      if (body.current === null || height === 0) return;
      const { top } = body.current.getBoundingClientRect();
      const next = around(-top / height, (window.innerHeight - top) / height);
      setSeen((last) => (last.from === next.from && last.to === next.to ? last : next));
    };
    // Whatever moves the table without scrolling changes the height of the page.
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    window.addEventListener('scroll', measure, { passive: true });
    measure();
    return () => {
      observer.disconnect();
      window.removeEventListener('scroll', measure);
    };
  }, [body, isWhole]);
  return isWhole ? { from: 0, to: count } : { from: Math.min(seen.from, count), to: Math.min(seen.to, count) };
}

/** These rows, and those that stand ready. */
function around(first: number, last: number): Range {
  return { from: Math.max(0, Math.floor(first) - READY), to: Math.max(0, Math.ceil(last) + READY) };
}
