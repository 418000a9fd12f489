import type { Hub } from 'hubline';
import type { Page } from 'playwright/test';
import { expect, test } from '../testing/fixtures.js';
import { eventRow, expectCounts, filterWith } from '../testing/page-parts.js';

const types = Array.from({ length: 5_000 }, (_, index) => `type.${String(index).padStart(4, '0')}`);
const last = 'type.4999';

function registerAll(hub: Hub): void {
  for (const type of types) hub.event({ type, handler: () => {} });
}

async function openAll(page: Page, origin: string): Promise<void> {
  await page.goto(`${origin}/#/?every=1`);
  await expect(filterWith(page, 'All', '5,000')).toBeVisible();
}

test('of 5,000 types only visible rows are in the document, and aria-rowcount has the total', async ({
  page,
  serve,
}) => {
  const { origin, hub } = await serve({ register: registerAll });
  await openAll(page, origin);
  await expect(page.getByRole('table', { name: /^Event types/ })).toHaveAttribute('aria-rowcount', '5001');
  expect(await page.getByRole('rowheader').count()).toBeLessThan(100);
  await expect(eventRow(page, 'type.0000')).toHaveAttribute('aria-rowindex', '2');
  await page.keyboard.press('End');
  await expect(eventRow(page, last)).toBeInViewport();
  await expect(eventRow(page, last)).toHaveAttribute('aria-rowindex', '5001');
  await expect(eventRow(page, 'type.0000')).toBeHidden();
  for (const type of types) await hub.emit(type, {});
  await expectCounts(eventRow(page, last), 1, 0);
  expect(await page.getByRole('rowheader').count()).toBeLessThan(100);
});

test('a focused row retains the focus while it is scrolled out of view, and j moves beyond the rows in the document', {
  tag: '@any-width',
}, async ({ page, serve }) => {
  const { origin, hub } = await serve({ register: registerAll });
  await openAll(page, origin);
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  const link = eventRow(page, 'type.0001').getByRole('link');
  await expect(link).toBeFocused();
  await page.evaluate('scrollTo(0, document.body.scrollHeight)');
  await expect(eventRow(page, last)).toBeInViewport();
  await hub.emit(last, {});
  await expectCounts(eventRow(page, last), 1, 0);
  await expect(link).toBeFocused();
  await page.keyboard.press('j');
  await expect(eventRow(page, 'type.0002').getByRole('link')).toBeFocused();
  await expect(eventRow(page, 'type.0002')).toBeInViewport();
  for (let presses = 0; presses < 117; presses += 1) await page.keyboard.press('j');
  await expect(eventRow(page, 'type.0119').getByRole('link')).toBeFocused();
  await expect(eventRow(page, 'type.0119')).toBeInViewport();
});

test('a group of thousands collapses, and the next row moves up', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin } = await serve({
    register: (hub) => {
      registerAll(hub);
      hub.event({ type: 'zebra.seen', handler: () => {} });
    },
  });
  await page.goto(`${origin}/#/?group=prefix`);
  await page.getByRole('button', { name: /^type\s*5,?000$/ }).click();
  await expect(eventRow(page, 'zebra.seen')).toBeVisible();
  await expect(page.getByRole('table', { name: /^Event types/ })).toHaveAttribute('aria-rowcount', '4');
});
