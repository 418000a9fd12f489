import { createWorkflow, FatalError, type Hub } from 'hubline';
import { expectAccessible } from '../testing/expect-accessible.js';
import { expect, test } from '../testing/fixtures.js';
import { runClockUntil, stopClock } from '../testing/page-clock.js';
import {
  chooseInMenu,
  connectionWord,
  eventPanel,
  eventRow,
  expectConnection,
  expectCounts,
} from '../testing/page-parts.js';

function registerShop(hub: Hub): void {
  hub.event({ type: 'order.created', onSuccess: 'payment.requested', handler: () => ({}) });
  hub.event({
    type: 'payment.requested',
    description: 'Charges the card.',
    schema: { type: 'object' },
    handler() {
      throw new FatalError('card declined');
    },
  });
  hub.event({ type: 'stock.low' });
}

test('overview and events', async ({ page, serve }) => {
  const { origin, hub } = await serve({ register: registerShop });
  await hub.emit('order.created', {});
  await page.goto(origin);
  await expectCounts(eventRow(page, 'payment.requested'), 1, 1);
  await expectAccessible(page);
});

test('open panel with the data of its chart', async ({ page, serve }) => {
  const { origin, hub } = await serve({ register: registerShop });
  await hub.emit('order.created', {});
  await page.goto(`${origin}/#/events/payment.requested`);
  await expect(eventPanel(page, 'payment.requested')).toContainText('card declined');
  await page.getByText('View data').last().click();
  await expectAccessible(page);
});

test('keyboard shortcuts', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin } = await serve({ register: registerShop });
  await page.goto(origin);
  await chooseInMenu(page, /^Keyboard shortcuts/);
  await expect(page.getByRole('dialog', { name: 'Keyboard shortcuts' })).toBeVisible();
  await expectAccessible(page);
});

test('empty hub and empty search', { tag: '@any-width' }, async ({ page, serve }) => {
  const empty = await serve();
  for (const [hash, title] of [
    ['#/', 'No event types yet'],
    ['#/workflows', 'No workflows yet'],
    ['#/agents', 'No agents yet'],
  ]) {
    await page.goto(`${empty.origin}/${hash}`);
    await expect(page.getByRole('heading', { name: title ?? '' })).toBeVisible();
    await expectAccessible(page);
  }
  const full = await serve({ register: registerShop });
  await page.goto(`${full.origin}/#/?q=nowhere`);
  await expect(page.getByRole('heading', { name: 'No event types match.' })).toBeVisible();
  await expectAccessible(page);
});

test.describe('while the server is down', () => {
  test.use({ expectsOutages: true });

  test('before the first response, and stale', { tag: '@any-width' }, async ({ page, serve }) => {
    const dashboard = await serve({ register: registerShop });
    const passThrough = dashboard.intercept;
    dashboard.intercept = ({ url = '' }) => url.includes('/api/');
    await page.clock.install();
    await page.goto(`${dashboard.origin}/#/?every=1`);
    await expectConnection(page, 'Connecting');
    await expectAccessible(page);
    dashboard.intercept = passThrough;
    await page.keyboard.press('r');
    await expectConnection(page, 'Live');
    await stopClock(page);
    await runClockUntil(page, connectionWord(page, 'Live'));
    dashboard.intercept = ({ url = '' }) => url.includes('/api/');
    await runClockUntil(
      page,
      page.getByRole('region', { name: 'Connection' }).getByText('The server is slow to respond.'),
    );
    // axe needs a clock that runs.
    await page.clock.resume();
    await expectAccessible(page);
  });

  test('lost connection with an open panel', async ({ page, serve }) => {
    const dashboard = await serve({ register: registerShop });
    await page.goto(`${dashboard.origin}/#/?every=1`);
    await expectConnection(page, 'Live');
    await dashboard.kill();
    await expectConnection(page, 'Lost');
    await expectAccessible(page);
    await eventRow(page, 'stock.low').getByRole('link').click();
    await expect(eventPanel(page, 'stock.low')).toBeVisible();
    await expect(page.getByRole('region', { name: 'Connection' })).toBeInViewport({ ratio: 1 });
    await expectAccessible(page);
  });
});

test('forced colours outline the open row and the active filter', { tag: '@any-width' }, async ({ page, serve }) => {
  await page.emulateMedia({ forcedColors: 'active' });
  const { origin } = await serve({ register: registerShop });
  await page.goto(`${origin}/#/events/stock.low`);
  await expect(eventPanel(page, 'stock.low')).toBeVisible();
  const open = page.getByRole('row', { includeHidden: true }).filter({ hasText: 'stock.low' });
  await expect(open).toHaveCSS('outline-style', 'solid');
  await page.keyboard.press('Escape');
  await page.setViewportSize({ width: 1_280, height: 800 });
  await expect(page.getByRole('button', { name: 'All 3' })).toHaveCSS('outline-style', 'solid');
  await expect(page.getByRole('button', { name: 'Failing 0' })).toHaveCSS('outline-style', 'none');
  await expectAccessible(page);
});

test('reduced motion stops animations', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin, hub } = await serve({
    register: (shop) => {
      const handler = (): Promise<never> => new Promise(() => {});
      shop.workflow(createWorkflow({ name: 'fulfil', trigger: 'order.paid', steps: [{ name: 'pick', handler }] }));
      shop.event({ type: 'order.paid' });
    },
  });
  await hub.emit('order.paid', {});
  await page.goto(`${origin}/#/workflows/fulfil`);
  const animations = (): Promise<number> => page.evaluate('document.getAnimations().length');
  await expect.poll(animations).toBeGreaterThan(0);
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await expect.poll(animations).toBe(0);
});
