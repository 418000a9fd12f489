import { AxeBuilder } from '@axe-core/playwright';
import { FatalError, type Hub } from 'hubline';
import type { Page } from 'playwright/test';
import { expect, test } from './fixtures.js';
import { eventPanel, eventRow, expectConnection, expectCounts } from './page-parts.js';

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

async function expectNoViolation(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).withTags(tags).analyze();
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)).toEqual([]);
}

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

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(`in the ${colorScheme} theme`, () => {
    test.use({ colorScheme });

    test('overview and events', async ({ page, serve }) => {
      const { origin, hub } = await serve({ register: registerShop });
      await hub.emit('order.created', {});
      await page.goto(origin);
      await expectCounts(eventRow(page, 'payment.requested'), 1, 0, 1);
      await expectNoViolation(page);
    });

    test('an open panel', async ({ page, serve }) => {
      const { origin, hub } = await serve({ register: registerShop });
      await hub.emit('order.created', {});
      await page.goto(`${origin}/#/events/payment.requested`);
      await expect(eventPanel(page, 'payment.requested')).toContainText('card declined');
      await expectNoViolation(page);
    });

    test('the list of shortcuts', async ({ page, serve }) => {
      const { origin } = await serve({ register: registerShop });
      await page.goto(origin);
      await page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
      await expect(page.getByRole('dialog', { name: 'Keyboard shortcuts' })).toBeVisible();
      await expectNoViolation(page);
    });

    test('nothing registered, and nothing that matches', async ({ page, serve }) => {
      const empty = await serve();
      await page.goto(empty.origin);
      await expect(page.getByRole('heading', { name: 'No event types yet' })).toBeVisible();
      await expectNoViolation(page);
      const full = await serve({ register: registerShop });
      await page.goto(`${full.origin}/#/?q=nowhere`);
      await expect(page.getByRole('heading', { name: 'Nothing matches' })).toBeVisible();
      await expectNoViolation(page);
    });

    test.describe('while the server is away', () => {
      test.use({ expectsOutages: true });

      test('the last data, with the panel open', async ({ page, serve }) => {
        const dashboard = await serve({ register: registerShop });
        await page.goto(`${dashboard.origin}/#/?every=1`);
        await expectConnection(page, 'Live');
        await dashboard.kill();
        await expectConnection(page, 'Lost');
        await expectNoViolation(page);
        await eventRow(page, 'stock.low').getByRole('link').click();
        await expect(eventPanel(page, 'stock.low')).toBeVisible();
        await expectNoViolation(page);
      });
    });
  });
}
