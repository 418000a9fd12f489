import { createWorkflow, type Hub } from 'hubline';
import { expectAccessible } from './expect-accessible.js';
import { expect, test } from './fixtures.js';
import { eventPanel, openView } from './page-parts.js';

test.use({ timezoneId: 'Europe/Berlin' });

function registerShop(hub: Hub): void {
  hub.event({ type: 'report.due', handler: () => {} });
  hub.workflow(createWorkflow({ name: 'nightly', trigger: 'night.came', steps: [{ name: 'count', handler() {} }] }));
  hub.event({ type: 'night.came' });
  hub.schedule({
    name: 'weekly report',
    description: 'Sends the report of the week.',
    cron: '0 8 * * 1',
    timeZone: 'Europe/Berlin',
    emit: 'report.due',
    payload: {},
  });
  hub.schedule({ name: 'count the stock', everyMs: 3_600_000, start: 'nightly', payload: {} });
}

test('schedules show what they start, when, and their last and next time', async ({ page, serve }) => {
  const { origin } = await serve({ register: registerShop });
  await page.goto(origin);
  await openView(page, 'Schedules');
  await expect(page).toHaveURL(/#\/schedules$/);
  await expect(page.getByText('times in Europe/Berlin')).toBeVisible();
  const report = page.getByRole('row', { name: /weekly report/ });
  for (const text of ['Sends the report of the week.', '0 8 * * 1 in Europe/Berlin', 'Mon', '08:00', 'never', 'in ']) {
    await expect(report).toContainText(text);
  }
  const stock = page.getByRole('row', { name: /count the stock/ });
  await expect(stock).toContainText('every 1 h');
  await expect(stock.locator('[data-label="Processes"]')).toHaveText('1');
  await expectAccessible(page);
  expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
  await stock.getByRole('link', { name: 'nightly' }).click();
  await expect(page.getByRole('article', { name: 'nightly' })).toBeVisible();
  await page.goBack();
  await report.getByRole('link', { name: 'report.due' }).click();
  await expect(eventPanel(page, 'report.due')).toBeVisible();
});

test('a hub without schedules shows the next step', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin } = await serve();
  await page.goto(`${origin}/#/schedules`);
  await expect(page.getByRole('heading', { name: 'No schedules yet' })).toBeVisible();
  await expectAccessible(page);
});
