import { screen, within } from '@testing-library/preact';
import { expect, test } from 'vitest';
import { RequestError, statusError } from '../api/fetch-json.js';
import { openPage } from '../testing/open-page.js';
import { shop, shownTypes } from '../testing/shop.js';

test('a lost connection shows the reason and the age of the data, and recovers', async () => {
  const api = shop();
  const page = await openPage(api);
  api.error = new RequestError('The server does not respond.');
  await page.poll();
  const banner = within(screen.getByRole('region', { name: 'Connection' }));
  expect(screen.getByText('Lost')).toBeTruthy();
  expect(banner.getByText(/The server does not respond\./)).toBeTruthy();
  expect(banner.getByText(/The data is from .+, 2 s old\. Next attempt in 2 s\./)).toBeTruthy();
  expect(shownTypes()).toHaveLength(4);
  api.error = null;
  await page.poll();
  expect(screen.getByText('Live')).toBeTruthy();
  expect(screen.queryByRole('region', { name: 'Connection' })).toBeNull();
});

test('Retry now polls at once', async () => {
  const api = shop();
  api.error = statusError(401, '/', undefined);
  const page = await openPage(api);
  expect(screen.getByText(/You are not signed in \(401\)/)).toBeTruthy();
  expect(screen.getByText(/There is no data yet\./)).toBeTruthy();
  api.error = null;
  await page.click(screen.getByRole('button', { name: 'Retry now' }));
  expect(screen.getByText('Live')).toBeTruthy();
});

test('a late response makes the data stale and shows its age', async () => {
  const api = shop();
  const page = await openPage(api);
  api.introspection = () => new Promise(() => {});
  await page.pass(9_000);
  expect(screen.getByRole('button', { name: /^Stale [89] s/ })).toBeTruthy();
  expect(screen.getByText(/The server is slow to respond\./)).toBeTruthy();
});

test('polling can be paused and resumed, and the URL holds the setting', async () => {
  const api = shop();
  const page = await openPage(api);
  await page.click(screen.getByRole('button', { name: /^Live/ }));
  await page.click(screen.getByRole('button', { name: /^Pause/ }));
  await page.pass(60_000);
  expect(screen.getByRole('button', { name: /^Paused 1 min/ })).toBeTruthy();
  expect(api.requests).toHaveLength(1);
  expect(location.hash).toBe('#/?every=off');
  await page.press('r');
  expect(api.requests).toHaveLength(2);
  await page.click(screen.getByRole('button', { name: /^Paused/ }));
  await page.click(screen.getByRole('button', { name: '1 s' }));
  await page.pass(1_000);
  expect(screen.getByText('Live')).toBeTruthy();
  expect(api.requests).toHaveLength(4);
});
