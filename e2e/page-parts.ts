import { expect, type Locator, type Page } from 'playwright/test';

/** Returns the row of an event type. */
export function eventRow(page: Page, type: string): Locator {
  return page.getByRole('row').filter({ has: page.getByRole('link', { name: type, exact: true }) });
}

/** Returns the panel of an event type. */
export function eventPanel(page: Page, type: string): Locator {
  return page.getByRole('complementary', { name: type, exact: true });
}

/** Waits until a row shows these counts. */
export async function expectCounts(row: Locator, received: number, completed: number, failed: number): Promise<void> {
  const cells = row.getByRole('cell');
  await expect(cells.nth(1)).toHaveText(String(received));
  await expect(cells.nth(2)).toHaveText(String(completed));
  await expect(cells.nth(3)).toHaveText(String(failed));
}

/** Waits until the page shows this state of its connection. */
export async function expectConnection(page: Page, word: 'Connecting' | 'Live' | 'Lost' | 'Paused'): Promise<void> {
  await expect(page.getByRole('banner').getByText(word, { exact: true })).toBeVisible();
}
