import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createNavigation, type Navigation } from './navigation.js';

let navigation: Navigation;

beforeEach(() => {
  window.history.replaceState(null, '', '/');
  navigation = createNavigation(window);
});

afterEach(() => navigation.stop());

test('typing adds no entry to the history, opening a panel adds one', () => {
  const push = vi.spyOn(window.history, 'pushState');
  navigation.go({ q: 'o' }, { replace: true });
  navigation.go({ q: 'or' }, { replace: true });
  expect(push).toHaveBeenCalledTimes(0);
  navigation.go({ name: 'order.created' });
  navigation.go({ name: 'order.created' });
  expect(push).toHaveBeenCalledTimes(1);
  expect(window.location.hash).toBe('#/events/order.created?q=or');
});

test('follows a URL that the user or Back changes', async () => {
  window.location.hash = '#/events/a%2Fb?show=failing';
  await vi.waitFor(() =>
    expect(navigation.route.value).toMatchObject({ view: 'events', name: 'a/b', show: 'failing' }),
  );
});

test('a link to an element changes neither the route nor the URL', async () => {
  navigation.go({ q: 'order' });
  window.location.hash = '#events-title';
  await vi.waitFor(() => expect(window.location.hash).toBe('#/?q=order'));
  expect(navigation.route.value.q).toBe('order');
});
