import { render } from 'preact';
import { expect, onTestFinished, test } from 'vitest';
import { createMonitor } from '../state/monitor.js';
import { createNavigation } from '../state/navigation.js';
import { createFakeApi } from '../testing/fake-api.js';
import { App } from './app.js';
import { createPreferences } from './preferences.js';

test('a key that is pressed before the first paint is a shortcut', () => {
  const navigation = createNavigation(window);
  const monitor = createMonitor(createFakeApi([]), navigation, document);
  const root = document.body.appendChild(document.createElement('div'));
  onTestFinished(() => {
    render(null, root);
    root.remove();
    monitor.stop();
    navigation.stop();
  });
  render(<App monitor={monitor} navigation={navigation} preferences={createPreferences(document)} />, root);
  document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true }));
  expect(document.activeElement).toBe(root.querySelector('input[type=search]'));
});
