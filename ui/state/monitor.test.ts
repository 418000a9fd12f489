import { effect } from '@preact/signals';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createFakeApi } from '../testing/fake-api.js';
import { countsOf, eventOf, SERVER_NOW } from '../testing/test-data.js';
import { createMonitor, type Monitor } from './monitor.js';
import { createNavigation } from './navigation.js';

let monitor: Monitor | undefined;

beforeEach(() => {
  vi.useFakeTimers();
  window.history.replaceState(null, '', '/');
});

afterEach(() => {
  monitor?.stop();
  vi.useRealTimers();
  vi.restoreAllMocks();
});

function show(visibility: 'hidden' | 'visible'): void {
  vi.spyOn(document, 'hidden', 'get').mockReturnValue(visibility === 'hidden');
  document.dispatchEvent(new Event('visibilitychange'));
}

test('a hidden tab does not poll; when shown it polls at once and is not stale', async () => {
  const api = createFakeApi([eventOf('a', countsOf(1))]);
  monitor = createMonitor(api, createNavigation(window), document);
  await vi.advanceTimersByTimeAsync(0);
  show('hidden');
  await vi.advanceTimersByTimeAsync(600_000);
  expect(api.requests).toHaveLength(1);
  show('visible');
  expect(monitor.connection.value.kind).toBe('live');
  await vi.advanceTimersByTimeAsync(0);
  expect(api.requests).toHaveLength(2);
});

test('leaving the page aborts the request in flight', async () => {
  const api = createFakeApi();
  const signals: AbortSignal[] = [];
  api.introspection = (signal) => {
    signals.push(signal);
    return new Promise(() => {});
  };
  monitor = createMonitor(api, createNavigation(window), document);
  window.dispatchEvent(new Event('pagehide'));
  expect(signals.map((signal) => signal.aborted)).toEqual([true]);
});

test('opening a type loads it at once, after the table', async () => {
  const api = createFakeApi([eventOf('a/b', countsOf(1))]);
  const navigation = createNavigation(window);
  monitor = createMonitor(api, navigation, document);
  await vi.advanceTimersByTimeAsync(500);
  navigation.go({ name: 'a/b' });
  await vi.advanceTimersByTimeAsync(0);
  expect(api.requests).toEqual(['introspection', 'introspection', 'a/b']);
  expect(monitor.detail.value?.body?.type).toBe('a/b');
});

test('a failed request for a type leaves the connection live', async () => {
  const api = createFakeApi([]);
  const navigation = createNavigation(window);
  monitor = createMonitor(api, navigation, document);
  navigation.go({ name: 'gone' });
  await vi.advanceTimersByTimeAsync(0);
  expect(monitor.detail.value?.error?.message).toContain('404');
  expect(monitor.connection.value.kind).toBe('live');
});

test('a slow response is shown, but not announced repeatedly', async () => {
  const api = createFakeApi([eventOf('a', countsOf(1))]);
  const introspection = api.introspection;
  api.introspection = async (signal) => {
    // On the fake clock.
    await new Promise<void>((answer) => void setTimeout(answer, 2_000));
    return introspection(signal);
  };
  monitor = createMonitor(api, createNavigation(window), document);
  await vi.advanceTimersByTimeAsync(2_100);
  expect(monitor.connection.value).toEqual({ kind: 'slow', tookMs: 2_000 });
  await vi.advanceTimersByTimeAsync(20_000);
  expect(monitor.announcement.value).toBe('');
});

test('the table and what is open change together, unless the latter takes long', async () => {
  const api = createFakeApi([eventOf('a', countsOf(1))]);
  const event = api.event;
  let eventMs = 30;
  api.event = async (type, signal) => {
    await new Promise<void>((answer) => void setTimeout(answer, eventMs));
    return event(type, signal);
  };
  const navigation = createNavigation(window);
  navigation.go({ name: 'a' });
  monitor = createMonitor(api, navigation, document);
  await vi.advanceTimersByTimeAsync(1_000);
  const { store, detail } = monitor;
  const seen: string[] = [];
  let last: readonly unknown[] = [store.introspection.value, detail.value];
  const stop = effect(() => {
    const next = [store.introspection.value, detail.value];
    seen.push(['table', 'panel'].filter((_, index) => next[index] !== last[index]).join(' and '));
    last = next;
  });
  monitor.refresh();
  await vi.advanceTimersByTimeAsync(60);
  expect(seen).toEqual(['', 'table and panel']);
  eventMs = 500;
  monitor.refresh();
  await vi.advanceTimersByTimeAsync(600);
  expect(seen).toEqual(['', 'table and panel', 'table', 'panel']);
  stop();
});

test('a range that the reader leaves while its counts are held is not shown', async () => {
  const api = createFakeApi([eventOf('a', countsOf(1))]);
  const event = api.event;
  api.event = async (type, signal) => {
    await new Promise<void>((answer) => void setTimeout(answer, 50));
    return event(type, signal);
  };
  const navigation = createNavigation(window);
  navigation.go({ name: 'a' });
  monitor = createMonitor(api, navigation, document);
  await vi.advanceTimersByTimeAsync(1_000);
  navigation.go({ selection: { from: SERVER_NOW - 120_000, to: SERVER_NOW + 60_000 } });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(monitor.store.range.value).not.toBeNull();
  monitor.refresh();
  await vi.advanceTimersByTimeAsync(20);
  navigation.go({ selection: null });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(monitor.store.range.value).toBeNull();
});
