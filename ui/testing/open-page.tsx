import { cleanup, render } from '@testing-library/preact';
import { vi } from 'vitest';
import { App } from '../app/app.js';
import { createPreferences } from '../app/preferences.js';
import { createMonitor } from '../polling/monitor.js';
import { createNavigation } from '../routing/navigation.js';
import type { FakeApi } from './fake-api.js';

export interface Page {
  /** Advances time to the next poll. */
  poll(): Promise<void>;
  /** Advances time. */
  pass(ms: number): Promise<void>;
  close(): void;
}

/** Opens the whole page on a fake clock and waits for its first response. */
export async function openPage(api: FakeApi, hash = ''): Promise<Page> {
  vi.useFakeTimers();
  window.history.replaceState(null, '', hash === '' ? '/' : hash);
  const navigation = createNavigation(window);
  const monitor = createMonitor(api, navigation, document);
  render(<App monitor={monitor} navigation={navigation} preferences={createPreferences(document)} />);
  const pass = async (ms: number): Promise<void> => {
    await vi.advanceTimersByTimeAsync(ms);
  };
  await pass(100);
  return {
    pass,
    poll: () => pass(2_000),
    close: () => {
      monitor.stop();
      navigation.stop();
      cleanup();
      vi.useRealTimers();
    },
  };
}
