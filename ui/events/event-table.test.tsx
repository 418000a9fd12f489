import { fireEvent, screen, within } from '@testing-library/preact';
import { expect, test } from 'vitest';
import { openPage } from '../testing/open-page.js';
import { row, shop, shownTypes, table } from '../testing/shop.js';
import { countsOf, eventOf } from '../testing/test-data.js';

test('a column header sorts and reverses, with aria-sort and the URL in step', async () => {
  const page = await openPage(shop());
  const header = table().getByRole('columnheader', { name: 'Received since start' });
  await page.click(within(header).getByRole('button'));
  expect(shownTypes()[0]).toBe('order.created');
  expect(header.getAttribute('aria-sort')).toBe('descending');
  expect(location.hash).toBe('#/?sort=received');
  await page.click(within(header).getByRole('button'));
  expect(shownTypes()[0]).toBe('audit.logged');
  expect(header.getAttribute('aria-sort')).toBe('ascending');
  expect(location.hash).toBe('#/?sort=received&dir=asc');
});

test('search and filter narrow the table, and Clear filters resets both', async () => {
  const page = await openPage(shop());
  fireEvent.input(screen.getByLabelText('Search event types'), { target: { value: 'ORDER' } });
  await page.pass(0);
  expect(shownTypes()).toEqual(['order.paid', 'order.created']);
  const failing = screen.getByRole('button', { name: 'Failing 1' });
  await page.click(failing);
  expect(shownTypes()).toEqual(['order.paid']);
  expect(failing.getAttribute('aria-pressed')).toBe('true');
  await page.click(screen.getByRole('button', { name: 'Never seen 1' }));
  expect(screen.getByText('No event types match.')).toBeTruthy();
  await page.click(screen.getByRole('button', { name: 'Clear filters' }));
  expect(shownTypes()).toHaveLength(4);
  expect(location.hash).toBe('#/');
});

test('rows stay in place under the pointer and are sorted when it leaves', async () => {
  const api = shop();
  const page = await openPage(api, '#/?sort=received');
  expect(shownTypes()[0]).toBe('order.created');
  const body = row('order.created').parentElement ?? document.body;
  fireEvent.pointerEnter(body);
  api.events = [
    ...api.events.slice(0, 3),
    eventOf('audit.logged', countsOf(999)),
    eventOf('new.type', countsOf(2_000)),
  ];
  await page.poll();
  expect(shownTypes()).toEqual([
    'order.created',
    'order.paid',
    '<img src=x onerror=alert(1)>',
    'audit.logged',
    'new.type',
  ]);
  expect(screen.getByText('The order is held while the pointer or focus is in the table.')).toBeTruthy();
  fireEvent.pointerLeave(body);
  await page.pass(0);
  expect(shownTypes().slice(0, 2)).toEqual(['new.type', 'audit.logged']);
});

test('rows stay in place while one has the focus', async () => {
  const api = shop();
  const page = await openPage(api, '#/?sort=received');
  row('order.paid').querySelector('a')?.focus();
  api.events = [eventOf('order.paid', countsOf(5_000)), ...api.events.filter(({ type }) => type !== 'order.paid')];
  await page.poll();
  expect(shownTypes()[0]).toBe('order.created');
  row('order.paid').querySelector('a')?.blur();
  await page.pass(0);
  expect(shownTypes()[0]).toBe('order.paid');
});

test('many types without events are one line, which lists them', async () => {
  const api = shop();
  const unused = Array.from({ length: 9 }, (_, index) => eventOf(`unused.${index}`, countsOf()));
  api.events = [eventOf('order.paid', countsOf(5)), ...unused];
  const page = await openPage(api);
  expect(shownTypes()).toEqual(['order.paid']);
  await page.click(screen.getByRole('button', { name: '9 types never seen' }));
  expect(location.hash).toBe('#/?show=never');
  expect(shownTypes()).toHaveLength(9);
});

test('rows without events stay while one of them has the focus', async () => {
  const api = shop();
  const unused = Array.from({ length: 10 }, (_, index) => eventOf(`unused.${index}`, countsOf()));
  api.events = unused;
  const page = await openPage(api);
  row('unused.1').querySelector('a')?.focus();
  api.events = [eventOf('unused.0', countsOf(5)), ...unused.slice(1)];
  await page.poll();
  expect(shownTypes()).toHaveLength(10);
  row('unused.1').querySelector('a')?.blur();
  await page.pass(0);
  expect(shownTypes()).toEqual(['unused.0']);
});

test('types without events are all listed beside the panel of one of them while none has events', async () => {
  const api = shop();
  api.events = Array.from({ length: 10 }, (_, index) => eventOf(`unused.${index}`, countsOf()));
  const page = await openPage(api, '#/events/unused.3');
  await page.poll();
  expect(shownTypes()).toHaveLength(10);
});
