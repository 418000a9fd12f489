import type { JSX, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

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

/** Range of row indexes: `from` is included, `to` is not. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** Up to this count all rows are in the document, so that the browser's search finds them. */
const MAX_RENDERED_IN_FULL = 100;

/** Rows beyond each edge of the viewport. They are added one by one, because many at once would drop frames. */
const OVERSCAN = 10;

/** Returns which of `count` rows of equal height are in the viewport or close to it. */
export function useVisibleRange(body: RefObject<HTMLElement | null>, count: number): Range {
  const [seen, setSeen] = useState<Range>({ from: 0, to: MAX_RENDERED_IN_FULL });
  const isWhole = count <= MAX_RENDERED_IN_FULL;
  useLayoutEffect(() => {
    if (isWhole) return;
    const measure = (): void => {
      const height = body.current?.querySelector('tr')?.offsetHeight ?? 0;
      if (body.current === null || height === 0) return;
      const { top } = body.current.getBoundingClientRect();
      const next = withOverscan(-top / height, (window.innerHeight - top) / height);
      setSeen((last) => (last.from === next.from && last.to === next.to ? last : next));
    };
    // Changes that move the table without scrolling change the height of the page.
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    const listeners = new AbortController();
    window.addEventListener('scroll', measure, { passive: true, signal: listeners.signal });
    window.addEventListener('resize', measure, { signal: listeners.signal });
    measure();
    return () => {
      observer.disconnect();
      listeners.abort();
    };
  }, [body, isWhole]);
  return isWhole ? { from: 0, to: count } : { from: Math.min(seen.from, count), to: Math.min(seen.to, count) };
}

/** Adds the overscan to a range. */
function withOverscan(first: number, last: number): Range {
  return { from: Math.max(0, Math.floor(first) - OVERSCAN), to: Math.max(0, Math.ceil(last) + OVERSCAN) };
}

/**
 * Returns the inner width of an element in pixels or rem; 0 before the first layout. It is measured when the element changes
 * its size, not when a component renders, which would compute all styles in the middle of a poll.
 */
export function useWidth(ref: RefObject<HTMLElement | null>, unit: 'px' | 'rem' = 'px'): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return;
    const measure = (): void => setWidth(element.clientWidth / (unit === 'rem' ? pixelsPerRem() : 1));
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, [ref, unit]);
  return width;
}

/** Tells whether the window is that of a phone. */
export function isNarrow(): boolean {
  return innerWidth < 600;
}

/** Returns a ref for an element that scrolls into view when it opens. */
export function useShown<T extends HTMLElement>(isOpen: boolean): RefObject<T | null> {
  const ref = useRef<T>(null);
  useEffect(() => {
    if (isOpen) ref.current?.scrollIntoView({ block: 'nearest' });
  }, [isOpen]);
  return ref;
}

/**
 * Returns a function that makes an element of a list, or returns the one of the last rendering if nothing that it shows has
 * changed: the same element costs a poll nothing, and most of a long list has ended.
 */
export function useKept(): (key: string, shown: string, make: () => JSX.Element) => JSX.Element {
  const last = useRef<ReadonlyMap<string, KeptElement>>(new Map());
  const next = new Map<string, KeptElement>();
  const before = last.current;
  last.current = next;
  return (key, shown, make) => {
    const known = before.get(key);
    const kept = known?.shown === shown ? known : { shown, element: make() };
    next.set(key, kept);
    return kept.element;
  };
}

interface KeptElement {
  readonly shown: string;
  readonly element: JSX.Element;
}

/** Returns the number of pixels per rem. */
function pixelsPerRem(): number {
  return Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;
}
