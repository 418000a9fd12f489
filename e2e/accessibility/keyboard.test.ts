import type { Hub } from 'hubline';
import { expect, test } from '../testing/fixtures.js';
import { stopClock } from '../testing/page-clock.js';
import { eventPanel, eventRow, expectConnection } from '../testing/page-parts.js';
import { registerShop } from '../testing/register-shop.js';

function registerStore(hub: Hub): void {
  registerShop(hub);
  hub.event({ type: 'stock.low' });
}

test('finds a failing event, opens it, copies its replay code and returns, with the keyboard only', async ({
  page,
  context,
  serve,
}) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const { origin, hub } = await serve({ register: registerStore });
  await hub.emit('payment.requested', {});
  await page.clock.install();
  await page.goto(`${origin}/#/?sort=status`);
  const { keyboard } = page;
  const link = eventRow(page, 'payment.requested').getByRole('link');
  await expect(link).toBeVisible();
  await keyboard.press('j');
  await expect(link).toBeFocused();
  await keyboard.press('Enter');
  const panel = eventPanel(page, 'payment.requested');
  await expect(panel.getByRole('heading', { name: 'payment.requested' })).toBeFocused();
  await expect(
    panel.getByRole('list', { name: 'Errors' }).getByRole('listitem').filter({ hasText: 'card declined' }),
  ).toBeVisible();
  await keyboard.press('Tab');
  const isNarrow = (page.viewportSize()?.width ?? 0) < 1_000;
  // The back link precedes the title, and Shift+Tab reaches it.
  if (!isNarrow) await expect(panel.getByRole('button', { name: 'Close panel' })).toBeFocused();
  await panel.getByRole('button', { name: 'Copy replay code' }).focus();
  await stopClock(page);
  await keyboard.press('Enter');
  await expect(panel.getByRole('button', { name: 'Copied' })).toBeVisible();
  await page.clock.resume();
  const clipboard = (): Promise<string> => page.evaluate('navigator.clipboard.readText()');
  await expect.poll(clipboard).toContain("of await hub.deadLetters('payment.requested', { limit: ");
  await keyboard.press('Escape');
  await expect(panel).toBeHidden();
  await expect(link).toBeFocused();
});

test('j and k move through the rows and stop at the ends', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin } = await serve({ register: registerStore });
  await page.goto(origin);
  const focused = async (type: string): Promise<void> => expect(eventRow(page, type).getByRole('link')).toBeFocused();
  await expect(eventRow(page, 'stock.low')).toBeVisible();
  await page.keyboard.press('j');
  await focused('order.created');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await focused('stock.low');
  await page.keyboard.press('j');
  await focused('stock.low');
  await page.keyboard.press('k');
  await focused('payment.requested');
  await page.keyboard.press('k');
  await page.keyboard.press('k');
  await focused('order.created');
});

test('groups expand and collapse with the keyboard, and the URL holds the state', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  const { origin } = await serve({ register: registerStore });
  await page.goto(origin);
  await page.setViewportSize({ width: 1_280, height: 800 });
  await page.getByRole('button', { name: 'Group by prefix' }).press('Enter');
  const group = page.getByRole('button', { name: 'payment 1' });
  await expect(group).toHaveAttribute('aria-expanded', 'true');
  await group.press('Enter');
  await expect(group).toHaveAttribute('aria-expanded', 'false');
  await expect(eventRow(page, 'payment.requested')).toBeHidden();
  await page.reload();
  await expect(group).toHaveAttribute('aria-expanded', 'false');
  await expect(eventRow(page, 'order.created')).toBeVisible();
  await expect(page).toHaveURL(/group=prefix&closed=payment/);
  await page.getByRole('button', { name: 'Group by prefix' }).press('Enter');
  await expect(eventRow(page, 'payment.requested')).toBeVisible();
  await expect(page).toHaveURL(/#\/$/);
});

test('the first Tab focuses the skip link', async ({ page, serve }) => {
  const { origin } = await serve({ register: registerStore });
  await page.goto(`${origin}/#/?sort=failed`);
  await expect(eventRow(page, 'stock.low')).toBeVisible();
  await page.keyboard.press('Tab');
  await expect(page.getByRole('link', { name: 'Skip to events' })).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { name: 'Events', exact: true })).toBeFocused();
  await expect(page).toHaveURL(/#\/\?sort=failed$/);
  await page.keyboard.press('Tab');
  await expect(page.getByRole('searchbox')).toBeFocused();
});

test('the theme and the poll interval are set with the keyboard and survive a reload', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  const { origin } = await serve({ register: registerStore });
  await page.goto(origin);
  await page.getByRole('button', { name: 'Menu' }).press('Enter');
  await page.getByRole('button', { name: 'Dark' }).press('Enter');
  await expect(page.locator('html')).toHaveCSS('color-scheme', 'dark');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: /^Live/ }).press('Enter');
  await page.getByRole('button', { name: /^Pause/ }).press('Enter');
  await expectConnection(page, 'Paused');
  await page.reload();
  await expect(page.locator('html')).toHaveCSS('color-scheme', 'dark');
  await expectConnection(page, 'Paused');
});
