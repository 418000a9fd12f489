import { type ReadonlySignal, signal } from '@preact/signals';

/** Returns a signal that is true while a media query matches. It is never disposed. */
export function mediaQuery(window: Window, query: string): ReadonlySignal<boolean> {
  const list = window.matchMedia(query);
  const matches = signal(list.matches);
  list.addEventListener('change', () => {
    matches.value = list.matches;
  });
  return matches;
}
