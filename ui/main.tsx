import { computed } from '@preact/signals';
import { render } from 'preact';
import { baseUrl, createApi } from './api/api.js';
import { App } from './app/app.js';
import { ErrorBoundary, whenReady } from './app/first-render.js';
import { createPreferences } from './app/preferences.js';
import { createMonitor } from './state/monitor.js';
import { createNavigation } from './state/navigation.js';
import './styles/index.css';

/** Time without a response after which the page shows its placeholders. A faster response is the first paint. */
const PLACEHOLDERS_AFTER_MS = 150;

// The first request is under way: what follows the monitor runs while the server responds.
const navigation = createNavigation(window);
const monitor = createMonitor(createApi(baseUrl(location)), navigation, document);
const preferences = createPreferences(document);
const hasResponse = computed(() => monitor.store.hub.value !== null || monitor.connection.value.kind === 'lost');
whenReady(hasResponse, PLACEHOLDERS_AFTER_MS, () =>
  render(
    <ErrorBoundary>
      <App monitor={monitor} navigation={navigation} preferences={preferences} />
    </ErrorBoundary>,
    document.body.appendChild(document.createElement('div')),
  ),
);
