import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright/test';
import { expectAccessible } from '../testing/expect-accessible.js';
import { expect, test } from '../testing/fixtures.js';
import { chooseInMenu, eventPanel, eventRow, expectConnection, expectCounts } from '../testing/page-parts.js';
import { registerShop } from '../testing/register-shop.js';

/** Saves a snapshot and returns the path of the file. */
async function save(page: Page): Promise<string> {
  await chooseInMenu(page, 'Snapshot');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Save snapshot' }).click();
  const file = await download;
  expect(file.suggestedFilename()).toMatch(/^shop-\d{4}-\d\d-\d\d-\d{6}\.json$/);
  await page.keyboard.press('Escape');
  return file.path();
}

async function open(page: Page, file: Parameters<Page['setInputFiles']>[1]): Promise<void> {
  await chooseInMenu(page, 'Snapshot');
  await page.getByLabel('Open snapshot').setInputFiles(file);
}

test('a snapshot shows earlier data without requests, and Back to live leaves it', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  const { origin, hub } = await serve({ register: registerShop });
  await hub.emit('payment.requested', {});
  await page.goto(`${origin}/#/events/payment.requested?every=1`);
  await expect(eventPanel(page, 'payment.requested')).toContainText('card declined');
  await page.keyboard.press('Escape');
  const file = await save(page);
  expect(await readFile(file, 'utf8')).toContain('"service":"shop"');
  for (let n = 0; n < 3; n += 1) await hub.emit('order.created', {});
  await expectCounts(eventRow(page, 'order.created'), 3, 0);

  await open(page, file);
  const banner = page.getByRole('region', { name: 'Snapshot' });
  await expect(banner).toContainText('Snapshot of ');
  await expectCounts(eventRow(page, 'order.created'), 0, 0);
  await expectCounts(eventRow(page, 'payment.requested'), 1, 1);
  await expect(eventRow(page, 'payment.requested')).toContainText('Failing');
  await expect(page.getByRole('banner').getByText('Snapshot', { exact: true })).toBeVisible();

  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  await eventRow(page, 'payment.requested').getByRole('link').click();
  await expect(eventPanel(page, 'payment.requested')).toContainText('card declined');
  await page.keyboard.press('Escape');
  await eventRow(page, 'order.created').getByRole('link').click();
  await expect(eventPanel(page, 'order.created')).toContainText('The snapshot has no details of this event type.');
  await page.keyboard.press('Escape');
  expect(requests).toEqual([]);

  await banner.getByRole('button', { name: 'Back to live' }).click();
  await expectConnection(page, 'Live');
  await expectCounts(eventRow(page, 'order.created'), 3, 0);
  await expect(banner).toBeHidden();
});

test('opens a file that is dropped on the page', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin, hub } = await serve({ register: registerShop });
  await hub.emit('order.created', {});
  await page.goto(origin);
  await expectCounts(eventRow(page, 'order.created'), 1, 0);
  const text = await readFile(await save(page), 'utf8');
  await page.evaluate(
    `{
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([${JSON.stringify(text)}], 'shop.json'));
      document.body.dispatchEvent(new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer }));
    }`,
  );
  await expect(page.getByRole('region', { name: 'Snapshot' })).toBeVisible();
  await expectCounts(eventRow(page, 'order.created'), 1, 0);
});

test('rejects another file with a message and continues to poll', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin, hub } = await serve({ register: registerShop });
  await page.goto(`${origin}/#/?every=1`);
  await open(page, { name: 'holiday.json', mimeType: 'application/json', buffer: Buffer.from('{"a":1}') });
  await expect(page.getByRole('alert')).toHaveText(/This file is not a dashboard snapshot/);
  await page.keyboard.press('Escape');
  await hub.emit('order.created', {});
  await expectCounts(eventRow(page, 'order.created'), 1, 0);
});

test('the dialog and a snapshot are accessible', async ({ page, serve }) => {
  const { origin, hub } = await serve({ register: registerShop });
  await hub.emit('payment.requested', {});
  await page.goto(`${origin}/#/?group=prefix`);
  await expectCounts(eventRow(page, 'payment.requested'), 1, 1);
  const file = await save(page);
  await open(page, { name: 'a.json', mimeType: 'application/json', buffer: Buffer.from('') });
  await expect(page.getByRole('alert')).not.toBeEmpty();
  await expectAccessible(page);
  await page.keyboard.press('Escape');
  await open(page, file);
  await expect(page.getByRole('region', { name: 'Snapshot' })).toBeVisible();
  await expectAccessible(page);
});
