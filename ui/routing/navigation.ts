import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { formatQuery, formatRoute, parseRoute, type Route } from './route.js';

/** Where the page is, kept in the URL's hash. */
export interface Navigation {
  readonly route: ReadonlySignal<Route>;
  /** The event type whose panel is open. */
  readonly openType: ReadonlySignal<string | null>;
  /** Goes to the route with some parts changed. `replace` makes no entry in the browser's history. */
  go(change: Partial<Route>, options?: { readonly replace?: boolean }): void;
  /** The query that links within the page keep. */
  readonly query: ReadonlySignal<string>;
  /** Stops following the URL. */
  stop(): void;
}

export function createNavigation(window: Window): Navigation {
  const route = signal(parseRoute(window.location.hash));
  const follow = (): void => {
    const { hash } = window.location;
    if (hash === '' || hash.startsWith('#/')) route.value = parseRoute(hash);
    // A link to an element, such as the skip link, has moved the focus: the URL stays a route.
    else window.history.replaceState(null, '', formatRoute(route.value));
  };
  window.addEventListener('hashchange', follow);
  return {
    route,
    openType: computed(() => (route.value.view === 'events' ? route.value.name : null)),
    query: computed(() => formatQuery(route.value)),
    go: (change, { replace = false } = {}) => {
      const next = { ...route.value, ...change };
      const hash = formatRoute(next);
      if (hash === formatRoute(route.value)) return;
      window.history[replace ? 'replaceState' : 'pushState'](null, '', hash);
      route.value = next;
    },
    stop: () => window.removeEventListener('hashchange', follow),
  };
}
