import { expect, test } from '../testing/fixtures.js';
import { eventRow, expectConnection, expectCounts, filterWith } from '../testing/page-parts.js';
import { registerShop } from '../testing/register-shop.js';

test('counts rise while events flow', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin, hub } = await serve({ register: registerShop });
  await page.goto(`${origin}/#/?every=1`);
  const row = eventRow(page, 'order.created');
  await expectCounts(row, 0, 0);
  await expect(row).toContainText('Never seen');

  for (let i = 0; i < 3; i += 1) await hub.emit('order.created', { id: i });
  await expectCounts(row, 3, 0);
  await expect(row).toContainText('Active');

  for (let i = 0; i < 4; i += 1) await hub.emit('order.created', { id: i });
  await expectCounts(row, 7, 0);
  await expect(page.locator('.kpi dd').last()).toHaveText('7');
  await expectConnection(page, 'Live');
});

test('a type with a failure is Failing', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin, hub } = await serve({ register: registerShop });
  await page.goto(`${origin}/#/?every=1`);
  const row = eventRow(page, 'payment.requested');
  await expect(row).toContainText('Never seen');
  await hub.emit('payment.requested', { id: 1 });
  await expectCounts(row, 1, 1);
  await expect(row).toContainText('Failing');
  await expect(page.getByRole('region', { name: 'Needs attention' })).toContainText('payment.requested');
  await expect(page).toHaveTitle(/1 failing/);
  await expect(page.getByRole('status')).toContainText('payment.requested');
});

test('a thousand types are listed, searched and counted', { tag: '@any-width' }, async ({ page, serve }) => {
  const types = Array.from({ length: 1_000 }, (_, index) => `type.${String(index).padStart(4, '0')}`);
  const { origin, hub } = await serve({
    register: (shop) => {
      for (const type of types) shop.event({ type, handler: () => {} });
    },
  });
  await page.goto(`${origin}/#/?every=1`);
  await expect(filterWith(page, 'All', '1,000')).toBeVisible();
  for (const type of types) await hub.emit(type, {});
  await expect(page.locator('.kpi dd').last()).toHaveText('1,000');
  await page.getByRole('searchbox', { name: 'Search event types' }).fill('0999');
  await expect(page.getByRole('row').filter({ has: page.getByRole('link') })).toHaveCount(1);
  await expectCounts(eventRow(page, 'type.0999'), 1, 0);
});
