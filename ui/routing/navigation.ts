import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { formatQuery, formatRoute, parseRoute, type Route } from './route.js';

/** Current route, stored in the URL's hash. */
export interface Navigation {
  readonly route: ReadonlySignal<Route>;
  /** Event type whose panel is open. */
  readonly openType: ReadonlySignal<string | null>;
  /** Id of the open request, or of the event of it that is selected. */
  readonly openRequest: ReadonlySignal<string | null>;
  /** Agent whose runs are open. */
  readonly openAgent: ReadonlySignal<string | null>;
  /** Changes parts of the route. With `replace`, the browser's history gets no new entry. */
  go(change: Partial<Route>, options?: { readonly replace?: boolean }): void;
  /** Query that links within the page retain. */
  readonly query: ReadonlySignal<string>;
  /** Stops following the URL. */
  stop(): void;
}

export function createNavigation(window: Window): Navigation {
  const route = signal(parseRoute(window.location.hash));
  const follow = (): void => {
    const { hash } = window.location;
    if (hash === '' || hash.startsWith('#/')) route.value = parseRoute(hash);
    // A link to an element, such as the skip link, has moved the focus. Restore the route.
    else window.history.replaceState(null, '', formatRoute(route.value));
  };
  window.addEventListener('hashchange', follow);
  return {
    route,
    openType: computed(() => (route.value.view === 'events' ? route.value.name : null)),
    openRequest: computed(() => (route.value.view === 'requests' ? route.value.name : null)),
    query: computed(() => formatQuery(route.value)),
    openAgent: computed(() => (route.value.view === 'agents' ? route.value.name : null)),
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
