import { createWorkflow, type Hub, memoryTransport } from 'hubline';
import { createFakeClock, type FakeClock } from 'hubline/testing';
import type { Page } from 'playwright/test';
import { expectAccessible } from '../testing/expect-accessible.js';
import { expect, test } from '../testing/fixtures.js';
import { sendTimeOf } from '../testing/page-clock.js';
import { eventPanel, expectNoOverflow, openView } from '../testing/page-parts.js';
import type { DashboardSetup, RunningDashboard } from '../testing/start-dashboard.js';

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
  hub.schedule({ name: 'leap day', cron: '0 9 29 2 *', timeZone: 'Asia/Tokyo', emit: 'report.due', payload: {} });
  hub.schedule({ name: 'count the stock', everyMs: 3_600_000, start: 'nightly', payload: {} });
}

/** Starts a hub with schedules on a Wednesday, on a clock that stands still: nothing becomes due during the test. */
async function serveShop(
  page: Page,
  serve: (setup: DashboardSetup) => Promise<RunningDashboard>,
): Promise<RunningDashboard & { readonly clock: FakeClock }> {
  const clock = createFakeClock(Date.UTC(2026, 0, 7, 10, 20, 30));
  const dashboard = await serve({ register: registerShop, hubOptions: { transport: memoryTransport({ clock }) } });
  dashboard.intercept = sendTimeOf(clock);
  // The year of the page's own clock decides which times have a year.
  await page.clock.install({ time: clock.now() });
  return Object.assign(dashboard, { clock });
}

test('on a phone, a schedule has two values per line', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin } = await serveShop(page, serve);
  await page.setViewportSize({ width: 320, height: 700 });
  await page.goto(`${origin}/#/schedules`);
  const report = page.getByRole('row', { name: /weekly report/ });
  const topOf = async (label: string): Promise<number | undefined> =>
    (await report.locator(`[data-label="${label}"]`).boundingBox())?.y;
  await expect(report).toBeVisible();
  for (const [left, right] of [
    ['Starts', 'Repeats'],
    ['Last', 'Outcome'],
    ['Next', 'Processes'],
  ] as const) {
    expect(await topOf(left)).toBe(await topOf(right));
  }
  await expectNoOverflow(page);
});

test('schedules show what they start, when, and their last and next time', async ({ page, serve }) => {
  const { origin } = await serveShop(page, serve);
  await page.goto(origin);
  await openView(page, 'Schedules');
  await expect(page).toHaveURL(/#\/schedules$/);
  await expect(page.getByText('times in Europe/Berlin')).toBeVisible();
  const report = page.getByRole('row', { name: /weekly report/ });
  for (const text of [
    'Sends the report of the week.',
    'on Mondays at 08:00, Europe/Berlin',
    '0 8 * * 1',
    'Mon, Jan 12, 08:00',
    'never',
    'in 5 d',
  ]) {
    await expect(report).toContainText(text);
  }
  const leapDay = page.getByRole('row', { name: /leap day/ });
  await expect(leapDay.locator('[data-label="Repeats"]')).toHaveText('0 9 29 2 *, Asia/Tokyo');
  const times = leapDay.locator('[data-label="Next"] time');
  await expect(times).toHaveText([/Feb 29, 2028, 01:00$/, /Feb 29, 2032, 01:00$/, /Feb 29, 2036, 01:00$/]);
  const stock = page.getByRole('row', { name: /count the stock/ });
  await expect(stock).toContainText('every hour');
  await expect(stock.locator('[data-label="Processes"]')).toHaveText('1');
  await expectAccessible(page);
  await expectNoOverflow(page);
  await stock.getByRole('link', { name: 'nightly' }).click();
  await expect(page.getByRole('article', { name: 'nightly' })).toBeVisible();
  await page.goBack();
  await report.getByRole('link', { name: 'report.due' }).click();
  await expect(eventPanel(page, 'report.due')).toBeVisible();
});

test('a schedule shows how its last event ended, and links to it', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin, clock, hub } = await serveShop(page, serve);
  await clock.advance(3_600_000);
  const outcome = page.getByRole('row', { name: /count the stock/ }).locator('[data-label="Outcome"]');
  await page.goto(`${origin}/#/schedules?every=off`);
  await expect(outcome).toContainText('Completed');
  const [run] = (await hub.workflowRuns('nightly')).runs;
  await outcome.getByRole('link', { name: run?.id.slice(0, 8) ?? '' }).click();
  await expect(page.getByRole('row', { name: /^Level 1: nightly/ })).toContainText('Completed');
});

test('a screen reader reads schedules as a table with row headers', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin } = await serveShop(page, serve);
  await page.goto(`${origin}/#/schedules`);
  await expect(page.locator('main')).toMatchAriaSnapshot(`
    - region "Schedules":
      - heading "Schedules" [level=2]
      - region "Next 12 h 1 of 3 schedules":
        - heading "Next 12 h 1 of 3 schedules" [level=3]
        - list:
          - listitem: "count the stock 12 times, next in 40 min"
      - table "Schedules":
        - rowgroup:
          - row "Schedule Starts Repeats Last Outcome Next Processes"
        - rowgroup:
          - row:
            - rowheader "count the stock shop"
            - cell "workflow nightly":
              - link "nightly"
            - cell "every hour"
            - cell "never"
            - cell "—"
            - cell /in 40 min/
            - cell "1"
          - row:
            - rowheader "leap day shop"
            - cell "report.due":
              - link "report.due"
            - cell "0 9 29 2 *, Asia/Tokyo"
            - cell "never"
            - cell "—"
            - cell /Feb 29, 2028, 01:00 in 2 y .*Feb 29, 2032, 01:00 .*Feb 29, 2036, 01:00/
            - cell "1"
          - row:
            - rowheader "weekly report Sends the report of the week. shop"
            - cell "report.due":
              - link "report.due"
            - cell "on Mondays at 08:00, Europe/Berlin 0 8 * * 1"
            - cell "never"
            - cell "—"
            - cell /Mon, Jan 12, 08:00 in 5 d/
            - cell "1"
  `);
});

test('schedules that were set at run time stand beside those of the code, the first 50 of them', {
  tag: '@any-width',
}, async ({ page, serve }) => {
  const { hub, origin, clock } = await serveShop(page, serve);
  const digest = { name: 'digest', cron: '0 7 * * *', timeZone: 'Europe/Berlin', emit: 'report.due', payload: {} };
  const customers = Array.from({ length: 52 }, (_, i) => `customer-${i}`);
  await Promise.all(customers.map((key) => hub.schedules.set({ ...digest, key })));
  await page.goto(`${origin}/#/schedules`);
  const rows = page.getByRole('table').locator('tbody > tr');
  await expect(rows).toHaveCount(53);
  const stored = rows.filter({ hasText: 'set at run time' });
  await expect(stored).toHaveCount(50);
  await expect(stored.first()).toContainText('every day at 07:00, Europe/Berlin');
  await expect(stored.first()).toContainText('Thu, Jan 8, 07:00');
  await expect(page.getByText('2 more were set at run time')).toBeVisible();
  // A key is data.
  expect(await page.content()).not.toContain('customer-');
  await expectAccessible(page);
  await expectNoOverflow(page);
  await hub.schedules.remove('digest', 'customer-0');
  await hub.schedules.remove('digest', 'customer-1');
  // A body is served for a second.
  await clock.advance(1_000);
  await expect(page.getByText('more were set at run time')).toHaveCount(0);
  await expect(rows).toHaveCount(53);
});

test('a hub without schedules shows the next step', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin } = await serve();
  await page.goto(`${origin}/#/schedules`);
  await expect(page.getByRole('heading', { name: 'No schedules yet' })).toBeVisible();
  await expectAccessible(page);
});
