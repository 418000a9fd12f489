import { cleanup, fireEvent, render } from '@testing-library/preact';
import { onTestFinished, vi } from 'vitest';
import { App } from '../app/app.js';
import { createPreferences } from '../app/preferences.js';
import { createMonitor } from '../state/monitor.js';
import { createNavigation } from '../state/navigation.js';
import type { FakeApi } from './fake-api.js';
import { SERVER_NOW } from './test-data.js';

export interface Page {
  /** Advances time to the next poll. */
  poll(): Promise<void>;
  /** Advances time. */
  pass(ms: number): Promise<void>;
  click(target: Element): Promise<void>;
  /** Presses a key. @param target element that has the focus; the document's body by default */
  press(key: string, target?: Element): Promise<void>;
  /** Closes the page before the end of the test. */
  close(): void;
}

/** Opens the whole page on a fake clock and waits for its first response. The end of the test closes it. */
export async function openPage(api: FakeApi, hash = ''): Promise<Page> {
  vi.useFakeTimers({ now: SERVER_NOW });
  window.history.replaceState(null, '', hash === '' ? '/' : hash);
  const navigation = createNavigation(window);
  const monitor = createMonitor(api, navigation, document);
  render(<App monitor={monitor} navigation={navigation} preferences={createPreferences(document)} />);
  const pass = async (ms: number): Promise<void> => {
    await vi.advanceTimersByTimeAsync(ms);
  };
  let isOpen = true;
  const close = (): void => {
    if (!isOpen) return;
    isOpen = false;
    monitor.stop();
    navigation.stop();
    cleanup();
    vi.useRealTimers();
  };
  onTestFinished(close);
  await pass(100);
  return {
    pass,
    poll: () => pass(2_000),
    click(target) {
      fireEvent.click(target);
      return pass(0);
    },
    press(key, target = document.body) {
      fireEvent.keyDown(target, { key });
      return pass(0);
    },
    close,
  };
}
