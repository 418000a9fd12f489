import { fireEvent, screen, within } from '@testing-library/preact';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Problem } from '../../server/dashboard/protocol.js';
import { createFakeApi } from '../testing/fake-api.js';
import { openPage } from '../testing/open-page.js';
import { row, shop, shownTypes } from '../testing/shop.js';
import { countsOf, detailOf, eventOf, periodOf, SERVER_NOW } from '../testing/test-data.js';

test('shows a placeholder and no numbers before the first response', async () => {
  const api = shop();
  api.introspection = () => new Promise(() => {});
  await openPage(api);
  expect(screen.getByText('Loading event types.')).toBeTruthy();
  expect(screen.getByText('Connecting')).toBeTruthy();
  expect(screen.queryByText('0%')).toBeNull();
  expect(screen.queryByText(/^\d\d:\d\d:\d\d$/)).toBeNull();
});

test('shows the hub, its counts and every type, with hostile names as text', async () => {
  await openPage(shop());
  expect(screen.getByRole('heading', { level: 1 }).textContent).toBe('shop');
  expect(screen.getByText('Live')).toBeTruthy();
  expect(shownTypes()).toEqual(['order.paid', '<img src=x onerror=alert(1)>', 'order.created', 'audit.logged']);
  expect(document.querySelector('td img, th img')).toBeNull();
  expect([...row('order.paid').querySelectorAll('td')].map((cell) => cell.textContent)).toEqual([
    'Failing',
    '',
    '1.7/s',
    '10',
    '10.0%',
    '0',
    '0',
    '100',
  ]);
  expect(document.title).toBe('(1 failing) Events · shop · Hubline');
});

test('counts update while events flow', async () => {
  const api = shop();
  const page = await openPage(api);
  api.events = [eventOf('order.created', countsOf(140, 0, { lastReceivedAt: SERVER_NOW }))];
  await page.poll();
  expect(within(row('order.created')).getByText('140')).toBeTruthy();
  expect(shownTypes()).toEqual(['order.created']);
});

test('a hub with nothing registered shows example code', async () => {
  await openPage(createFakeApi());
  expect(screen.getByText('No event types yet')).toBeTruthy();
  expect(screen.getByText(/hub\.event\(/)).toBeTruthy();
  expect(screen.getByRole('button', { name: 'Copy code' })).toBeTruthy();
});

test('what holds the only slot of a type stands beside the usual duration', async () => {
  const api = shop();
  const holders = [{ id: '0a292a32-1', since: SERVER_NOW - 540_000 }];
  const bottlenecks = [{ service: 'shop', kind: 'concurrency' as const, limit: 1, holders }];
  api.details = {
    durationMs: { ...detailOf('').durationMs, lastHour: { p50: 2_400, p95: 3_000, p99: 3_000, max: 3_000 } },
    backlog: { type: 'order.created', waiting: 8, inPerMinute: 1, outPerMinute: 0, bottlenecks },
  };
  await openPage(api, '#/events/order.created');
  const why = screen.getByText('Why').parentElement?.textContent;
  expect(why).toMatch(/^WhyIts only slot is taken: 0a292a32.* for 9 min \(median ~2\.4 s\)$/);
});

test('the panel opens from its URL, links to triggers, and loads its type only while open', async () => {
  const api = shop();
  api.details = {
    durationMs: {
      ...detailOf('').durationMs,
      lastHour: { p50: 12, p95: 85, p99: 1_240, max: 65_000 },
    },
    errorGroups: [
      {
        ...{ id: 'a', eventType: 'order.created', name: 'CardError', message: 'order "…" declined' },
        ...{ failures: 4, attempts: 12, deadLetters: 4, history: [] },
        ...{ firstSeenAt: SERVER_NOW - 3_600_000, lastSeenAt: SERVER_NOW - 120_000, firstRelease: 'v2' },
        newest: [{ id: 'id-1', requestId: 'r', at: SERVER_NOW - 120_000, attempt: 3 }],
      },
    ],
  };
  api.releases = [
    { service: 'shop', release: 'v1', startedAt: SERVER_NOW - 7_200_000 },
    { service: 'shop', release: 'v2', startedAt: SERVER_NOW - 5_400_000 },
  ];
  const page = await openPage(api, '#/events/order.created?q=order');
  const panel = within(screen.getByRole('complementary', { name: 'order.created' }));
  for (const text of ['~12 ms', '~85 ms', '~1.2 s', '1 min 5 s']) expect(panel.getByText(text)).toBeTruthy();
  const error = panel.getByRole('list', { name: 'Errors' }).textContent;
  expect(error).toContain('×4 order "…" declinedCardErrornew since v2still fails, last seen 2 min ago, first 1 h ago');
  expect(panel.getByRole('link', { name: 'order.paid' }).getAttribute('href')).toBe('#/events/order.paid?q=order');
  expect(api.requests).toEqual(['introspection', 'order.created']);
  await page.press('Escape');
  expect(screen.queryByRole('complementary')).toBeNull();
  expect(location.hash).toBe('#/?q=order');
  await page.poll();
  expect(api.requests.slice(2)).toEqual(['introspection']);
});

test('the focus moves to the panel and back to the row', async () => {
  const page = await openPage(shop());
  const link = row('order.paid').querySelector('a');
  link?.focus();
  link?.click();
  window.dispatchEvent(new Event('hashchange'));
  await page.pass(100);
  expect(document.activeElement?.textContent).toBe('order.paid');
  expect(document.activeElement?.tagName).toBe('H2');
  await page.click(screen.getByRole('button', { name: 'Close panel' }));
  expect(document.activeElement).toBe(link);
});

test('the panel of an unknown type says that it is not registered', async () => {
  await openPage(shop(), '#/events/nope');
  expect(screen.getByText('No such event type.')).toBeTruthy();
});

test('a menu closes on Escape, which leaves the panel open, and on a click outside', async () => {
  const page = await openPage(shop(), '#/events/order.paid');
  const opener = screen.getByRole('button', { name: 'Menu' });
  await page.click(opener);
  const item = screen.getByRole('button', { name: 'Snapshot' });
  await page.press('Escape', item);
  expect(screen.queryByRole('button', { name: 'Snapshot' })).toBeNull();
  expect(document.activeElement).toBe(opener);
  expect(screen.getByRole('complementary')).toBeTruthy();
  await page.click(opener);
  fireEvent.pointerDown(document.body);
  await page.pass(0);
  expect(opener.getAttribute('aria-expanded')).toBe('false');
});

test('"/" searches from any view, and j moves the open panel along', async () => {
  const other = await openPage(shop(), '#/agents');
  await other.press('/');
  await other.pass(100);
  expect(location.hash).toBe('#/');
  expect(document.activeElement).toBe(screen.getByLabelText('Search event types'));
  other.close();
  const page = await openPage(shop(), '#/events/order.paid');
  await page.press('j');
  const next = shownTypes()[1] ?? '';
  expect(location.hash).toBe(`#/events/${encodeURIComponent(next)}`);
  expect(screen.getByRole('complementary', { name: next })).toBeTruthy();
});

test('shortcuts search and change the theme, except while typing or if switched off', async () => {
  const page = await openPage(shop());
  await page.press('/');
  const search = screen.getByLabelText('Search event types');
  expect(document.activeElement).toBe(search);
  const before = document.documentElement.dataset['theme'];
  await page.press('t', search);
  expect(document.documentElement.dataset['theme']).toBe(before);
  await page.press('t');
  expect(document.documentElement.dataset['theme']).not.toBe(before);
  await page.press('?');
  const dialog = document.querySelector<HTMLDialogElement>('dialog[open]');
  expect(dialog?.getAttribute('aria-label')).toBe('Keyboard shortcuts');
  fireEvent.click(within(dialog ?? document.body).getByRole('checkbox'));
  dialog?.close();
  const switched = document.documentElement.dataset['theme'];
  await page.press('t');
  expect(document.documentElement.dataset['theme']).toBe(switched);
});

test('a live region announces new failures', async () => {
  const api = shop();
  const page = await openPage(api);
  api.events = [eventOf('order.created', countsOf(120, 2, { lastFailedAt: SERVER_NOW }))];
  await page.poll();
  expect(screen.getAllByRole('status')).toHaveLength(1);
  expect(screen.getByRole('status').textContent).toBe('2 new failures in order.created.');
});

test('statuses and ages of an idle hub follow the server clock', async () => {
  const api = shop();
  const page = await openPage(api);
  expect(within(row('order.created')).getByText('Active')).toBeTruthy();
  api.serverNow += 3_600_000;
  await page.poll();
  expect(within(row('order.created')).getByText('Idle')).toBeTruthy();
  await page.click(screen.getByRole('button', { name: 'Menu' }));
  expect(screen.getByText(/up 2 h$/)).toBeTruthy();
});

test('the worst problem is first, and "more" shows those of any kind', async () => {
  const api = shop();
  const failing = (eventType: string): Problem => ({
    kind: 'failing',
    severity: 'error',
    eventType,
    failed: 1,
    ended: 2,
  });
  const overdue: Problem = { kind: 'overdue-schedule', severity: 'warning', schedule: 'nightly' };
  const problems = [...['order.paid', 'a', 'b', 'c'].map(failing), overdue];
  api.health = { status: 'failing', problems, problemCount: 12 };
  const page = await openPage(api);
  const region = within(screen.getByRole('region', { name: 'Needs attention' }));
  const subjects = (): (string | null)[] => region.getAllByRole('link').map((link: HTMLElement) => link.textContent);
  expect(subjects()).toEqual(['order.paid', 'a', 'b']);
  await page.click(region.getByRole('button', { name: '+9 more' }));
  expect(subjects()).toEqual(['order.paid', 'a', 'b', 'c', 'nightly']);
  expect(region.getByText(/^7 more are not listed/)).toBeTruthy();
  await page.click(region.getByRole('button', { name: 'Show fewer' }));
  expect(subjects()).toEqual(['order.paid', 'a', 'b']);
});

test('on a phone, the problems that have no line are counted by kind', async () => {
  vi.stubGlobal('innerWidth', 320);
  onTestFinished(() => {
    vi.unstubAllGlobals();
  });
  const api = shop();
  const letters = ['a', 'b', 'c', 'd'].map(
    (eventType): Problem => ({ kind: 'dead-letters', severity: 'warning', eventType, count: 500 }),
  );
  const overdue: Problem = { kind: 'overdue-schedule', severity: 'warning', schedule: 'nightly' };
  api.health = { status: 'degraded', problems: [...letters, overdue], problemCount: 5 };
  await openPage(api);
  const region = within(screen.getByRole('region', { name: 'Needs attention' }));
  expect(region.getByText('dead letters (1), overdue (1)')).toBeTruthy();
});

test('pauses are listed beside the problems, with who paused what, since when and why', async () => {
  const api = shop();
  const pause = { by: 'ada', reason: 'card provider is down', since: SERVER_NOW - 180_000 };
  const paused = [
    { target: { type: 'order.paid' }, ...pause },
    { target: { service: 'mail' }, ...pause },
  ];
  api.health = { status: 'ok', problems: [], problemCount: 0, paused };
  await openPage(api);
  const list = within(screen.getByRole('list', { name: 'Paused' }));
  expect(list.getAllByRole('listitem').map((item: HTMLElement) => item.textContent)).toEqual([
    'order.paid paused by ada 3 min ago: card provider is down',
    'service mail paused by ada 3 min ago: card provider is down',
  ]);
  const links = list.getAllByRole('link').map((link: HTMLElement) => link.getAttribute('href'));
  expect(links).toEqual([expect.stringContaining('order.paid'), expect.stringContaining('#/processes')]);
  expect(screen.getByText('Nothing failed in the last 5 min')).toBeTruthy();
});

test('problems keep their order for 10 seconds, with new numbers', async () => {
  const api = shop();
  const failing = (eventType: string, failed: number): Problem => {
    return { kind: 'failing', severity: 'error', eventType, failed, ended: 100 };
  };
  const links = (): (string | null)[] =>
    within(screen.getByRole('region', { name: 'Needs attention' }))
      .getAllByRole('link')
      .map((link: HTMLElement) => link.textContent);
  api.health = { status: 'failing', problems: [failing('a', 9), failing('b', 5)], problemCount: 2 };
  const page = await openPage(api);
  api.health = { status: 'failing', problems: [failing('b', 50), failing('a', 9)], problemCount: 2 };
  await page.poll();
  expect(links()).toEqual(['a', 'b']);
  expect(screen.getByText('50 of 100 failed in 5 min (50.0%)')).toBeTruthy();
  await page.pass(10_000);
  expect(links()).toEqual(['b', 'a']);
});

test('a healthy hub has one quiet line', async () => {
  await openPage(createFakeApi([eventOf('a')]));
  expect(screen.getByText('Nothing failed in the last 5 min')).toBeTruthy();
});

test('a selected range is loaded once it is over, and cleared by its chip', async () => {
  const api = shop();
  api.rangeEvents = [{ type: 'order.created', counts: periodOf(7) }];
  const [from, to] = [SERVER_NOW - 120_000, SERVER_NOW - 60_000];
  const page = await openPage(api, `#/?from=${from}&to=${to}`);
  expect(row('order.created').querySelector('.col-received')?.textContent).toBe('7');
  await page.poll();
  expect(api.requests).toEqual(['introspection', `range ${from} ${to}`, 'introspection']);
  await page.click(screen.getByRole('button', { name: /clear the selected period$/ }));
  expect(row('order.created').querySelector('.col-received')?.textContent).toBe('120');
  expect(location.hash).toBe('#/');
});

test('the title of the tab names the view and what is open in it', async () => {
  await openPage(shop(), '#/events/order.paid');
  expect(document.title).toBe('(1 failing) order.paid · Events · shop · Hubline');
});

test('a name in the URL that the hub does not have is named', async () => {
  await openPage(shop(), '#/agents/unknown-agent');
  expect(screen.getByRole('alert').textContent).toBe('Not found among the agents: unknown-agent');
});

test('a release that replaced another one is a mark on every chart', async () => {
  const api = shop();
  api.releases = [
    { service: 'shop', release: 'v1', startedAt: SERVER_NOW - 86_400_000, endedAt: SERVER_NOW - 120_000 },
    { service: 'shop', release: 'v2', startedAt: SERVER_NOW - 120_000 },
  ];
  await openPage(api, '#/events/order.created?range=5m');
  const charts = screen.getAllByRole('slider').map((chart) => chart.querySelector<HTMLElement>('.chart-release-name'));
  // Above the plot, whose lines do not cross it.
  expect(charts.map((name) => [name?.textContent, name?.style.top])).toEqual(Array(2).fill(['v2', '-14px']));
});
