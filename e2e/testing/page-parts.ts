import { expect, type Locator, type Page } from 'playwright/test';

/** Returns the row of an event type. */
export function eventRow(page: Page, type: string): Locator {
  return page.getByRole('row').filter({ has: page.getByRole('link', { name: type, exact: true }) });
}

/** Returns the panel of an event type. */
export function eventPanel(page: Page, type: string): Locator {
  return page.getByRole('complementary', { name: type, exact: true });
}

/** Waits until a row shows these counts, which narrow pages hide. */
export async function expectCounts(row: Locator, received: number, failed: number): Promise<void> {
  await expect(row.locator('.col-received')).toHaveText(String(received));
  await expect(row.locator('.col-failed')).toHaveText(String(failed));
}

/** Returns the filter of the table that shows this text: a button, or a select box on narrow pages. */
export function filterWith(page: Page, label: string, count: string): Locator {
  const select = page.getByRole('combobox', { name: 'Show event types' });
  return page
    .getByRole('button', { name: `${label} ${count}` })
    .or(select.filter({ has: page.locator('option:checked', { hasText: `${label} (${count})` }) }));
}

/** Shows the event types with a status. */
export async function filterBy(page: Page, label: string, count: number): Promise<void> {
  const button = page.getByRole('button', { name: `${label} ${count}` });
  const select = page.getByRole('combobox', { name: 'Show event types' });
  await expect(button.or(select)).toBeVisible();
  if (await button.isVisible()) await button.click();
  else await select.selectOption({ label: `${label} (${count})` });
}

/** Opens a view. */
export async function openView(
  page: Page,
  view: 'Events' | 'Workflows' | 'Agents' | 'Schedules' | 'Processes',
): Promise<void> {
  const link = page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: view });
  const select = page.getByRole('combobox', { name: 'View' });
  await expect(link.or(select)).toBeVisible();
  if (await link.isVisible()) await link.click();
  else await select.selectOption({ label: view });
}

/** Clicks an item of the page's menu. */
export async function chooseInMenu(page: Page, item: string | RegExp): Promise<void> {
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('banner').getByRole('button', { name: item }).click();
}

/** Expects that nothing is wider than the window, as soon as the layout has settled. */
export async function expectNoOverflow(page: Page, message?: string): Promise<void> {
  const overflow = (): Promise<number> => page.evaluate('document.documentElement.scrollWidth - innerWidth');
  await expect.poll(overflow, message).toBeLessThanOrEqual(0);
}

type ConnectionWord = 'Connecting' | 'Live' | 'Lost' | 'Paused';

/** Returns the word that the page shows in this state of its connection. */
export function connectionWord(page: Page, word: ConnectionWord): Locator {
  return page.getByRole('banner').getByText(word, { exact: true });
}

/** Waits until the page shows this state of its connection. */
export async function expectConnection(page: Page, word: ConnectionWord): Promise<void> {
  await expect(connectionWord(page, word)).toBeVisible();
}
