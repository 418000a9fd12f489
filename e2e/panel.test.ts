import { FatalError, type Hub } from 'hubline';
import { expect, test } from './fixtures.js';
import { eventPanel, eventRow } from './page-parts.js';

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
  const { origin, hub } = await serve({ register: registerShop });
  for (const isGood of [true, true, false]) await hub.emit('payment.requested', { isGood });
  await page.goto(`${origin}/#/?every=1`);
  const link = eventRow(page, 'payment.requested').getByRole('link');
  await link.click();
  await expect(page).toHaveURL(/#\/events\/payment\.requested/);

  const panel = eventPanel(page, 'payment.requested');
  await expect(panel.getByRole('heading', { name: 'payment.requested' })).toBeFocused();
  await expect(panel).toContainText('Charges the card.');
  await expect(panel.getByRole('definition').nth(0)).toHaveText('3');
  await expect(panel.getByRole('definition').nth(1)).toHaveText('2');
  await expect(panel.getByRole('definition').nth(2)).toHaveText('1');
  await expect(panel.getByRole('listitem').filter({ hasText: 'card declined' })).toContainText('FatalError');
  await expect(panel.locator('dt', { hasText: 'Processes' }).locator('+ dd')).toHaveText('1');
  await expect(panel.getByText('isGood')).toBeVisible();

  await panel.getByText('View data').click();
  const minutes = panel.getByRole('table', { name: 'Events per minute over the last hour' }).getByRole('row');
  await expect(minutes).toHaveCount(61);
  // The events may fall into two minutes.
  const received = (row: number): Promise<string | null> => minutes.nth(row).getByRole('cell').first().textContent();
  expect(Number(await received(1)) + Number(await received(2))).toBe(3);

  await panel.getByRole('button', { name: 'Close panel' }).click();
  await expect(panel).toBeHidden();
  await expect(link).toBeFocused();
  await expect(page).not.toHaveURL(/events/);
});

test('is at the right, and replaces the page below 720 pixels', async ({ page, serve }) => {
  const { origin } = await serve({ register: registerShop });
  await page.goto(`${origin}/#/events/payment.requested`);
  const panel = eventPanel(page, 'payment.requested');
  for (const [width, isFull] of [
    [719, true],
    [720, false],
  ] as const) {
    await page.setViewportSize({ width, height: 700 });
    await expect.poll(async () => (await panel.boundingBox())?.x === 0).toBe(isFull);
    await expect(page.locator('[inert]').getByRole('searchbox')).toHaveCount(isFull ? 1 : 0);
  }
});

test('updates while it is open', async ({ page, serve }) => {
  const { origin, hub } = await serve({ register: registerShop });
  await page.goto(`${origin}/#/events/payment.requested?every=1`);
  const panel = eventPanel(page, 'payment.requested');
  await expect(panel.getByText('None.')).toBeVisible();
  await hub.emit('payment.requested', { isGood: false });
  await expect(panel.getByRole('listitem').filter({ hasText: 'card declined' })).toHaveCount(1);
  await expect(panel.getByRole('definition').nth(2)).toHaveText('1');
});

test('links to the events that the type emits, and Escape and Back close it', async ({ page, serve }) => {
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

test('copies its link, its JSON and the id of a failed event', async ({ page, context, serve }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const { origin, hub } = await serve({ register: registerShop });
  const { id } = await hub.emit('payment.requested', { isGood: false });
  await page.goto(`${origin}/#/events/payment.requested`);
  const panel = eventPanel(page, 'payment.requested');
  await panel.getByRole('button', { name: 'Copy link' }).click();
  await expect(panel.getByRole('button', { name: 'Copied' })).toBeVisible();
  const clipboard = (): Promise<string> => page.evaluate('navigator.clipboard.readText()');
  expect(await clipboard()).toBe(`${origin}/#/events/payment.requested`);
  await panel.getByRole('button', { name: 'Copy JSON' }).click();
  await expect.poll(clipboard).toContain('"timeoutMs": 3000');
  await panel.getByRole('button', { name: id }).click();
  await expect.poll(clipboard).toBe(id);
});
