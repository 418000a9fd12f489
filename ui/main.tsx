import { render } from 'preact';
import { createApi } from './api/api.js';
import { baseUrl } from './api/base-url.js';
import { App } from './app/app.js';
import { ErrorBoundary } from './app/error-boundary.js';
import { createPreferences } from './app/preferences.js';
import { createMonitor } from './polling/monitor.js';
import { createNavigation } from './routing/navigation.js';
import './styles/index.css';

const navigation = createNavigation(window);
const preferences = createPreferences(document);
const monitor = createMonitor(createApi(baseUrl(location)), navigation, document);
render(
  <ErrorBoundary>
    <App monitor={monitor} navigation={navigation} preferences={preferences} />
  </ErrorBoundary>,
  document.body.appendChild(document.createElement('div')),
);
