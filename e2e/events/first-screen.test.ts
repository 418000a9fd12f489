import { FatalError } from 'hubline';
import type { Locator, Page } from 'playwright/test';
import { built } from '../../scripts/page/built-classes.js';
import { EXTREMES, THOUSANDS } from '../../ui/testing/loads.js';
import { serveAnswers } from '../testing/answering-dashboard.js';
import { expectAccessible } from '../testing/expect-accessible.js';
import { expect, test } from '../testing/fixtures.js';
import { eventPanel, eventRow, expectNoOverflow } from '../testing/page-parts.js';

/** Returns the vertical distance from the end of an element to the end of the viewport. */
async function roomBelow(page: Page, element: Locator): Promise<number> {
  const box = await element.boundingBox();
  const viewport = page.viewportSize();
  if (box === null || viewport === null) throw new Error('the element is not on the page');
  return viewport.height - (box.y + box.height);
}

/** Returns the left and upper edge of every row that is in the document. */
async function rowPositions(page: Page): Promise<readonly unknown[]> {
  return page
    .locator('.row')
    .evaluateAll((rows) =>
      rows.map((row) => [row.getBoundingClientRect().left, row.getBoundingClientRect().top, row.textContent?.length]),
    )
    .then((all) => all.map((position) => position.slice(0, 2)));
}

const problems = (page: Page): Locator => page.getByRole('region', { name: 'Needs attention' });

test('the worst problem and the first failing row are on the first screen, in title and icon too', {
  tag: '@any-width',
}, async ({ page, serve }) => {
  const { dashboard } = await serveAnswers(serve);
  for (const size of [
    { width: 320, height: 700 },
    { width: 1280, height: 800 },
  ]) {
    await page.setViewportSize(size);
    await page.goto(dashboard.origin);
    const worst = problems(page).getByRole('listitem').first();
    await expect(worst).toContainText('refund.requested');
    await expect(worst).toContainText(/100%|failed/);
    expect(await roomBelow(page, worst)).toBeGreaterThan(size.height / 2);
    for (const name of await problems(page).locator(built('.problem-subject')).all()) {
      expect(await name.evaluate((element) => element.scrollWidth - element.clientWidth)).toBeLessThanOrEqual(0);
    }
    const search = page.getByRole('searchbox');
    expect(await search.evaluate((element) => element.clientWidth)).toBeGreaterThan(size.width > 400 ? 200 : 240);
    expect(await roomBelow(page, page.locator('.row').filter({ hasText: 'Failing' }).first())).toBeGreaterThan(0);
    await expect(page).toHaveTitle(/^\(\d failing\) Events · shop · Hubline$/);
    await expect(page.locator('link[rel="icon"]')).toHaveAttribute('href', /b3360b/);
    const header = await page.getByRole('banner').boundingBox();
    expect(header?.height).toBeLessThan(60);
    await expectNoOverflow(page);
  }
});

test('a long error message comes first, and leaves the time of its problem in view where it has room', {
  tag: '@any-width',
}, async ({ page, serve }) => {
  const { origin, hub } = await serve({
    register: (shop) => {
      const handler = (): never => {
        throw new FatalError('unbreakable'.repeat(30));
      };
      shop.event({ type: 'payment.requested', handler });
    },
  });
  await hub.emit('payment.requested', {});
  await expect.poll(async () => (await hub.metrics('payment.requested')).failed).toBe(1);
  await page.goto(origin);
  const details = problems(page).locator(built('.problem-details'));
  await expect(details).toContainText(/^unbreakable.* · (now|\d+ s ago)$/);
  for (const width of [320, 1_280]) {
    await page.setViewportSize({ width, height: 700 });
    await expectNoOverflow(page);
  }
  const end = await details.locator('span').last().boundingBox();
  expect((end?.x ?? 0) + (end?.width ?? 0)).toBeLessThan(1_280);
});

test('no view is wider than the window at any width', { tag: '@any-width' }, async ({ page, serve }) => {
  const { dashboard } = await serveAnswers(serve, THOUSANDS);
  await page.goto(dashboard.origin);
  await expect(page.getByRole('link', { name: /^Events 5,000/ })).toBeVisible();
  for (const view of ['', 'errors', 'flow', 'workflows', 'agents', 'waits', 'schedules', 'processes']) {
    await page.evaluate(`location.hash = '#/${view}'`);
    for (const width of [320, 420, 600, 719, 720, 768, 900, 999, 1000, 1100, 1280, 1920, 2560]) {
      await page.setViewportSize({ width, height: 900 });
      await expectNoOverflow(page, `#/${view} at ${width} px`);
    }
  }
});

test('thousands of types are accessible, with their number and places in the table', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  const { dashboard } = await serveAnswers(serve, THOUSANDS);
  await page.goto(`${dashboard.origin}/#/?every=off&group=prefix`);
  const table = page.getByRole('table', { name: /^Event types/ });
  await expect(table).toHaveAttribute('aria-rowcount', '5051');
  await expectAccessible(page);
  await expect(table).toMatchAriaSnapshot(`
    - table "Event types with their counts. The column headers sort.":
      - rowgroup:
        - row:
          - columnheader "Status":
            - button "Status"
          - columnheader "Event type"
      - rowgroup:
        - row /service 6 100 8 failing/:
          - rowheader "service 6 100 8 failing":
            - button "service 6 100" [expanded]
        - row /Failing service 6\\.event \\d+/:
          - cell "Failing"
          - rowheader /service 6\\.event/:
            - link /service 6\\.event/
  `);
  await page.keyboard.press('End');
  const last = table.getByRole('row').last();
  await expect(last).toHaveAttribute('aria-rowindex', '5051');
});

test('names and errors of any length and script leave the layout intact', async ({ page, serve }) => {
  const { dashboard } = await serveAnswers(serve, EXTREMES);
  for (const [hash, ready] of [
    ['', EXTREMES[1]?.type],
    ['?group=prefix', EXTREMES[1]?.type],
    [`events/${encodeURIComponent(EXTREMES[0]?.type ?? '')}`, 'no response within # ms'],
  ]) {
    await page.goto(`${dashboard.origin}/#/${hash}`);
    await page
      .getByText(ready ?? '')
      .first()
      .waitFor();
    await page.evaluate('scrollTo(0, 0)');
    await expectAccessible(page);
    await expectNoOverflow(page);
  }
  const panel = page.getByRole('complementary');
  expect(await panel.evaluate((element) => element.scrollWidth - element.clientWidth)).toBeLessThanOrEqual(0);
});

test('the more of its events fail, the more the status of a type stands out', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  const { dashboard } = await serveAnswers(serve);
  await page.goto(`${dashboard.origin}/#/?every=off`);
  for (const [type, share, fill] of [
    ['refund.requested', /^Failing: 100% of/, 'rgb(179, 54, 11)'],
    ['payment.requested', /^Failing: [4-6]\.\d% of/, /^color\(/],
    ['email.queued', /^Failing: 0\.\d% of|^Attention/, 'rgba(0, 0, 0, 0)'],
  ] as const) {
    const badge = eventRow(page, type).locator('.status');
    await expect(badge).toHaveAttribute('title', share);
    await expect(badge).toHaveCSS('background-color', fill);
  }
});

for (const width of [720, 1000, 1280, 1920]) {
  test(`no row moves when the panel opens at ${width} px`, { tag: '@any-width' }, async ({ page, serve }) => {
    const { dashboard } = await serveAnswers(serve);
    await page.setViewportSize({ width, height: 900 });
    await page.goto(dashboard.origin);
    const row = eventRow(page, 'payment.requested');
    await row.waitFor();
    const before = await rowPositions(page);
    await row.getByRole('link').click();
    await expect(eventPanel(page, 'payment.requested').getByText(/failed in 5 min/)).toBeVisible();
    expect(await rowPositions(page)).toEqual(before);
    await expect(page.getByRole('banner').getByText('Live')).toBeVisible();
  });
}

test('the chart opens full, and arrow keys read its points', { tag: '@any-width' }, async ({ page, serve }) => {
  const { dashboard } = await serveAnswers(serve);
  await page.goto(dashboard.origin);
  const chart = page.getByRole('slider', { name: 'Events per second, last 1 h' });
  await chart.focus();
  await page.keyboard.press('End');
  await expect(chart).toHaveAttribute('aria-valuetext', / so far: /);
  await page.keyboard.press('Home');
  await expect(chart).toHaveAttribute('aria-valuetext', /^\D*\d\d:\d\d–\d\d:\d\d: [\d,]{5,} received/);
  await page.getByRole('button', { name: '7 d' }).click();
  await expect(page.getByRole('slider', { name: 'Events per second, last 7 d' })).toHaveAttribute(
    'aria-valuemax',
    '167',
  );
});

test('the pointer shows the numbers of a point at the cursor', async ({ page, serve }) => {
  const { dashboard } = await serveAnswers(serve);
  await page.goto(dashboard.origin);
  const box = await page.getByRole('slider').boundingBox();
  if (box === null) throw new Error('the chart is not on the page');
  await page.mouse.move(box.x + box.width / 2, box.y + 40);
  const tooltip = page.locator(built('.chart-tooltip'));
  await expect(tooltip).toContainText('Waiting p95');
  const left = (await tooltip.boundingBox())?.x ?? 0;
  expect(left).toBeGreaterThanOrEqual(0);
  await page.mouse.move(0, 0);
  await expect(tooltip).toHaveCount(0);
});

test('selecting a range recomputes the table until it is cleared, after a reload too', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  const { dashboard, answers } = await serveAnswers(serve);
  await page.goto(dashboard.origin);
  const row = eventRow(page, 'refund.requested');
  const failed = row.locator(built('.col-failures'));
  await expect(failed).toHaveText('100%');
  await page.getByRole('slider').focus();
  for (const key of ['Home', 'Shift+ArrowRight', 'Shift+ArrowRight', 'Enter']) await page.keyboard.press(key);
  const chip = page.getByRole('button', { name: /clear the selected period$/ });
  await expect(chip).toBeVisible();
  const query = new URL(page.url().replace('#/', '')).searchParams;
  const { events } = answers.range(Number(query.get('from')), Number(query.get('to')));
  const received = events.find(({ type }) => type === 'order.created')?.counts.received ?? 0;
  const shown = eventRow(page, 'order.created').locator('.col-received');
  await expect(shown).toHaveText(received.toLocaleString('en'));
  await expect(failed).toHaveText(/^(0%|—)$/);
  const all = events.reduce((sum, { counts }) => sum + counts.received, 0);
  const kpis = page.locator('.kpi');
  await expect(kpis.filter({ hasText: 'Received' }).locator('.count')).toHaveText(all.toLocaleString('en'));
  await expect(kpis.locator(built('.kpi-period'))).toHaveText(['selected', 'selected', 'selected', 'selected']);
  await expect(row.locator('.col-trend')).toHaveText('—');
  const attention = page.getByRole('region', { name: 'Needs attention' });
  await expect(attention).toContainText(/need attention now; the counts are of the selected period/);
  await expect(attention.getByRole('link')).toHaveCount(0);
  await page.reload();
  await expect(shown).toHaveText(received.toLocaleString('en'));
  await attention.getByRole('button', { name: 'Show now' }).click();
  await expect(chip).toHaveCount(0);
  await expect(attention.getByRole('link').first()).toBeVisible();
  await expect(failed).toHaveText('100%');
});

test('similar errors are one line, with their ids on demand', { tag: '@any-width' }, async ({ page, serve }) => {
  const { dashboard } = await serveAnswers(serve);
  await page.goto(`${dashboard.origin}/#/events/payment.requested`);
  const panel = eventPanel(page, 'payment.requested');
  await expect(panel.getByText(/^×\d\d+$/)).toBeVisible();
  await expect(panel.getByText('×2', { exact: true })).toBeVisible();
  await panel.getByText('Newest failures').first().click();
  await expect(panel.getByRole('link', { name: '4be0643f' }).first()).toBeVisible();
});

test('the first screen of a hub in trouble is accessible, with its tooltip and menus', async ({ page, serve }) => {
  const { dashboard } = await serveAnswers(serve);
  await page.goto(dashboard.origin);
  await eventRow(page, 'payment.requested').waitFor();
  await expectAccessible(page);
  await page.getByRole('slider').focus();
  await page.keyboard.press('Home');
  await page.getByRole('button', { name: 'Menu' }).click();
  await expectAccessible(page);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: /^Live/ }).click();
  await expectAccessible(page);
});

test('every other view of a hub in trouble is accessible', { tag: '@any-width' }, async ({ page, serve }) => {
  const { dashboard } = await serveAnswers(serve);
  for (const [hash, ready] of [
    ['#/events/payment.requested', 'no response within # ms'],
    ['#/?group=prefix', 'payment'],
    ['#/?range=7d', 'refund.requested'],
    ['#/workflows', 'Last run'],
    ['#/agents', 'small-1'],
  ] as const) {
    await page.goto(`${dashboard.origin}/${hash}`);
    await page.getByText(ready, { exact: true }).first().waitFor();
    // The focus returns from the panel to its row. At the top no control is half below the sticky header.
    await page.evaluate('scrollTo(0, 0)');
    await expectAccessible(page);
  }
});
