import { type ReadonlySignal, signal } from '@preact/signals';

/** Whether a media query matches, for as long as the page lives. */
export function mediaQuery(window: Window, query: string): ReadonlySignal<boolean> {
  const list = window.matchMedia(query);
  const matches = signal(list.matches);
  list.addEventListener('change', () => {
    matches.value = list.matches;
  });
  return matches;
}
