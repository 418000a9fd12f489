import { FatalError, type Hub } from 'hubline';
import type { Page } from 'playwright/test';
import { built } from '../../scripts/page/built-classes.js';
import { serveAnswers } from '../testing/answering-dashboard.js';
import { expectAccessible } from '../testing/expect-accessible.js';
import { expect, test } from '../testing/fixtures.js';
import { eventRow, expectCounts, filterBy, filterWith } from '../testing/page-parts.js';

const counts: readonly (readonly [type: string, events: number])[] = [
  ['order.created', 3],
  ['order.failed', 1],
  ['payment.requested', 2],
  ['review.reminder', 0],
];

function registerShop(hub: Hub): void {
  for (const [type] of counts) {
    hub.event({
      type,
      handler() {
        if (type === 'order.failed') throw new FatalError('no such order');
      },
    });
  }
}

async function emitAll(hub: Hub): Promise<void> {
  for (const [type, events] of counts) {
    for (let i = 0; i < events; i += 1) await hub.emit(type, {});
  }
}

async function expectTypes(page: Page, types: readonly string[]): Promise<void> {
  await expect(page.getByRole('rowheader')).toHaveText([...types]);
}

test('searches, and holds the search in the URL', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin } = await serve({ register: registerShop });
  await page.goto(origin);
  await expectTypes(page, ['order.created', 'order.failed', 'payment.requested', 'review.reminder']);
  await page.keyboard.press('/');
  await page.keyboard.type('ORDER');
  await expectTypes(page, ['order.created', 'order.failed']);
  await expect(page).toHaveURL(/q=ORDER/);
  await page.reload();
  await expectTypes(page, ['order.created', 'order.failed']);
  await expect(page.getByRole('searchbox')).toHaveValue('ORDER');
});

test('sorts by a column in both directions, with aria-sort', { tag: '@any-width' }, async ({ page, serve }) => {
  await page.setViewportSize({ width: 1_280, height: 800 });
  const { origin, hub } = await serve({ register: registerShop });
  await emitAll(hub);
  await page.goto(origin);
  const received = page.getByRole('columnheader', { name: /^Received/ });
  await received.getByRole('button').click();
  await expect(received).toHaveAttribute('aria-sort', 'descending');
  await expectTypes(page, ['order.created', 'payment.requested', 'order.failed', 'review.reminder']);
  await received.getByRole('button').click();
  await expect(received).toHaveAttribute('aria-sort', 'ascending');
  await expectTypes(page, ['review.reminder', 'order.failed', 'payment.requested', 'order.created']);
  await page.goBack();
  await expect(received).toHaveAttribute('aria-sort', 'descending');
});

test('rows stay in place under the pointer and are sorted when it leaves', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  const { origin, hub } = await serve({ register: registerShop });
  await emitAll(hub);
  await page.goto(`${origin}/#/?sort=received&every=1`);
  const before = ['order.created', 'payment.requested', 'order.failed', 'review.reminder'];
  await expectTypes(page, before);
  await eventRow(page, 'review.reminder').hover();
  for (let n = 0; n < 9; n += 1) await hub.emit('review.reminder', {});
  await expectCounts(eventRow(page, 'review.reminder'), 9, 0);
  await expect(page.getByText('The order is held while the pointer or focus is in the table.')).toBeVisible();
  await expectTypes(page, before);
  await page.mouse.move(1, 1);
  await expectTypes(page, ['review.reminder', 'order.created', 'payment.requested', 'order.failed']);
});

test('filters by status, and Back removes the filter', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin, hub } = await serve({ register: registerShop });
  await emitAll(hub);
  await page.goto(origin);
  await filterBy(page, 'Failing', 1);
  await expectTypes(page, ['order.failed']);
  await filterBy(page, 'Never seen', 1);
  await expectTypes(page, ['review.reminder']);
  await filterBy(page, 'Active', 2);
  await expectTypes(page, ['order.created', 'payment.requested']);
  await page.goBack();
  await page.goBack();
  await page.goBack();
  await expect(filterWith(page, 'All', '4')).toBeVisible();
  await expectTypes(page, ['order.failed', 'order.created', 'payment.requested', 'review.reminder']);
});

test('opens in the state of its URL', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin, hub } = await serve({ register: registerShop });
  await emitAll(hub);
  await page.goto(`${origin}/#/?sort=received&dir=asc&q=r&show=active&every=5`);
  await expectTypes(page, ['payment.requested', 'order.created']);
  await page.getByRole('button', { name: /^Live/ }).click();
  await expect(page.getByRole('button', { name: '5 s', exact: true })).toHaveAttribute('aria-pressed', 'true');
});

test('reports an empty search and clears the filters', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin } = await serve({ register: registerShop });
  await page.goto(`${origin}/#/?q=nowhere&show=failing`);
  await expect(page.getByRole('heading', { name: 'No event types match.' })).toBeVisible();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await expect(eventRow(page, 'order.created')).toBeVisible();
});

test('shows example code if nothing is registered', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin } = await serve();
  await page.goto(origin);
  await expect(page.getByRole('heading', { name: 'No event types yet' })).toBeVisible();
  await expect(page.getByText('hub.event({')).toBeVisible();
  await expect(page.getByRole('slider')).toBeHidden();
});

test('a hub that has received no event shows how to emit one, then its chart in that place', async ({
  page,
  serve,
}) => {
  const { origin, hub } = await serve({ register: registerShop });
  await page.goto(`${origin}/#/?every=1`);
  await expect(page.getByRole('heading', { name: 'No events yet' })).toBeVisible();
  await expect(page.getByText("await hub.emit('order.created', { /* payload */ });")).toBeVisible();
  await expect(page.getByRole('slider')).toBeHidden();
  await expectAccessible(page);
  const row = eventRow(page, 'order.created');
  const topOf = async (): Promise<number> => (await row.boundingBox())?.y ?? 0;
  const before = await topOf();
  await hub.emit('order.created', {});
  await expect(page.getByRole('slider', { name: 'Events per minute, last 5 min' })).toBeVisible();
  await expect(page.getByRole('heading', { name: 'No events yet' })).toBeHidden();
  await expect.poll(async () => Math.abs((await topOf()) - before)).toBeLessThan(2);
});

test('says that nothing is failing', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin } = await serve({ register: registerShop });
  await page.goto(`${origin}/#/?show=failing`);
  await expect(page.getByRole('heading', { name: 'Nothing is failing.' })).toBeVisible();
  await expect(page.getByText('Nothing failed in the last 5 min')).toBeVisible();
});

test('a narrow page sorts with a select box', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin, hub } = await serve({ register: registerShop });
  await emitAll(hub);
  await page.setViewportSize({ width: 320, height: 700 });
  await page.goto(origin);
  await page.getByRole('combobox', { name: 'Sort by' }).selectOption('Received');
  await expectTypes(page, ['order.created', 'payment.requested', 'order.failed', 'review.reminder']);
});

test('on a narrow page the status of each row ends where its numbers end', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  const { dashboard } = await serveAnswers(serve);
  await page.setViewportSize({ width: 320, height: 700 });
  await page.goto(dashboard.origin);
  await eventRow(page, 'order.created').waitFor();
  const parts = ['.status:not(.is-medium, .is-high)', '.col-failures'].map(built);
  const distances = await page.locator('.row').evaluateAll(
    (rows, selectors) =>
      rows.flatMap((row) => {
        const [status, numbers] = selectors.map((part) => row.querySelector(part)?.getBoundingClientRect());
        return status && numbers ? [Math.round(numbers.right - status.right)] : [];
      }),
    parts,
  );
  expect(distances.length).toBeGreaterThan(10);
  expect(new Set(distances)).toEqual(new Set([0]));
});
