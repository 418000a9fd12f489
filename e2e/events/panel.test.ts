import { FatalError, type Hub } from 'hubline';
import type { Locator } from 'playwright/test';
import { expect, test } from '../testing/fixtures.js';
import { eventPanel, eventRow } from '../testing/page-parts.js';

/** Returns the count with this label. */
function count(panel: Locator, label: string): Locator {
  return panel.locator('dt', { hasText: label }).locator('+ dd');
}

function registerShop(hub: Hub): void {
  hub.event<{ isGood: boolean }>({
    type: 'payment.requested',
    description: 'Charges the card.',
    schema: { type: 'object', properties: { isGood: { type: 'boolean' } } },
    retry: { maxAttempts: 4 },
    timeoutMs: 3_000,
    onSuccess: 'payment.captured',
    handler({ payload }) {
      if (!payload.isGood) throw new FatalError('card declined');
    },
  });
  hub.event({ type: 'payment.captured' });
}

test('shows the details of a type and restores the focus when it closes', async ({ page, serve }) => {
  const startedAt = Date.now();
  const { origin, hub } = await serve({ register: registerShop });
  for (const isGood of [true, true, false]) await hub.emit('payment.requested', { isGood });
  await page.goto(`${origin}/#/?every=1`);
  const link = eventRow(page, 'payment.requested').getByRole('link');
  await link.click();
  await expect(page).toHaveURL(/#\/events\/payment\.requested/);

  const panel = eventPanel(page, 'payment.requested');
  await expect(panel.getByRole('heading', { name: 'payment.requested' })).toBeFocused();
  await expect(panel).toContainText('Charges the card.');
  await expect(panel.getByText('1 of 3 failed in 5 min')).toBeVisible();
  await expect(count(panel, 'Received')).toHaveText('3');
  await expect(count(panel, 'Completed')).toHaveText('2');
  await expect(count(panel, 'Failed')).toHaveText('1');
  await expect(
    panel.getByRole('list', { name: 'Errors' }).getByRole('listitem').filter({ hasText: 'card declined' }),
  ).toContainText('FatalError');
  await expect(count(panel, 'Processes')).toHaveText('1');
  await panel.getByText('View code', { exact: true }).click();
  await expect(panel.getByText('hub.deadLetters')).toBeVisible();
  await expect(panel.getByText('isGood')).toBeVisible();

  await panel.getByText('View data').click();
  const minutes = panel.getByRole('table', { name: 'Events of this type, last 5 min' }).getByRole('row');
  const received = (): Promise<string[]> => minutes.locator('td:nth-child(2)').allTextContents();
  await expect.poll(async () => (await received()).reduce((sum, text) => sum + Number(text), 0)).toBe(3);
  // The hub has no data from before its start.
  const shown = (await received()).length;
  const minuteOf = (time: number): number => Math.floor(time / 60_000);
  expect(shown).toBeLessThanOrEqual(minuteOf(Date.now()) - minuteOf(startedAt) + 1);

  await panel.getByRole('button', { name: /^(Close panel|Events)$/ }).click();
  await expect(panel).toBeHidden();
  await expect(link).toBeFocused();
  await expect(page).not.toHaveURL(/events/);
});

test('is at the right, and replaces the page below 1,000 pixels', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin } = await serve({ register: registerShop });
  await page.goto(`${origin}/#/events/payment.requested`);
  const panel = eventPanel(page, 'payment.requested');
  for (const [width, isFull] of [
    [999, true],
    [1_000, false],
  ] as const) {
    await page.setViewportSize({ width, height: 700 });
    await expect.poll(async () => (await panel.boundingBox())?.x === 0).toBe(isFull);
    await expect(page.locator('[inert]').getByRole('searchbox')).toHaveCount(isFull ? 1 : 0);
  }
});

test('updates while it is open', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin, hub } = await serve({ register: registerShop });
  await page.goto(`${origin}/#/events/payment.requested?every=1`);
  const panel = eventPanel(page, 'payment.requested');
  await expect(panel.getByText('No event was received since the start')).toBeVisible();
  await hub.emit('payment.requested', { isGood: false });
  await expect(
    panel.getByRole('list', { name: 'Errors' }).getByRole('listitem').filter({ hasText: 'card declined' }),
  ).toHaveCount(1);
  await expect(count(panel, 'Failed')).toHaveText('1');
});

test('links to the events that the type emits, and Escape and Back close it', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  const { origin } = await serve({ register: registerShop });
  await page.goto(`${origin}/`);
  await eventRow(page, 'payment.requested').getByRole('link').click();
  await eventPanel(page, 'payment.requested').getByRole('link', { name: 'payment.captured' }).click();
  const next = eventPanel(page, 'payment.captured');
  await expect(next).toContainText('declared');
  await page.goBack();
  await expect(eventPanel(page, 'payment.requested')).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('complementary')).toBeHidden();
});

test('copies the id of a failed event', { tag: '@any-width' }, async ({ page, context, serve }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const { origin, hub } = await serve({ register: registerShop });
  const { id } = await hub.emit('payment.requested', { isGood: false });
  await page.goto(`${origin}/#/events/payment.requested`);
  const panel = eventPanel(page, 'payment.requested');
  await expect(panel.getByText('card declined').first()).toBeVisible();
  const clipboard = (): Promise<string> => page.evaluate('navigator.clipboard.readText()');
  await panel.getByText('Newest failures').click();
  const errors = panel.getByRole('list', { name: 'Errors' });
  await errors.getByRole('button', { name: `Copy the event id ${id.slice(0, 8)}` }).click();
  await expect.poll(clipboard).toBe(id);
});
