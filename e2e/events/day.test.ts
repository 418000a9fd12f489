import type { Locator, Page } from 'playwright/test';
import { built } from '../../scripts/page/built-classes.js';
import { expect, test } from '../testing/fixtures.js';
import { sendTimeOf } from '../testing/page-clock.js';
import { eventPanel, eventRow } from '../testing/page-parts.js';
import { DAY_MINUTES, DAY_START, dayHub, HANDLER_MS, type Sum, sumOf, TYPES } from './day-ledger.js';

/** Number of the minute after the current one. */
const END = DAY_MINUTES + 1;
const RANGES = [
  ['5 min', 1, 6],
  ['1 h', 1, 60],
  ['24 h', 5, 288],
  ['7 d', 60, 168],
] as const;

/** Returns the periods of a range, newest first, as the data of the chart has them. */
function periodsOf(types: readonly string[], stepMinutes: number, count: number): readonly Sum[] {
  const current = Math.floor(DAY_MINUTES / stepMinutes);
  return Array.from({ length: Math.min(count, current + 1) }, (_, index) => {
    const period = current - index;
    return sumOf(types, period * stepMinutes, Math.min(END, (period + 1) * stepMinutes));
  });
}

const asRow = ({ received, completed, failed }: Sum): string[] =>
  [received, completed, failed].map((count) => count.toLocaleString('en'));

/** Returns the counts of each row of a chart's data, newest first. */
async function chartData(section: Locator): Promise<string[][]> {
  return section
    .locator(built('.data-table tbody tr'))
    .evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent ?? '')));
}

/** Returns the heights of the bars of a path, by the column of the bar. */
function barHeights(path: string | null, columns: number): number[] {
  const heights = Array.from({ length: columns }, () => 0);
  for (const [, x, height] of (path ?? '').matchAll(/M(\d+) \d+v-(\d+)/g)) {
    heights[Math.round(Number(x) / (100 / columns))] = Number(height);
  }
  return heights;
}

async function expectTrend(row: Locator, type: string): Promise<void> {
  const minutes = Array.from({ length: 20 }, (_, index) => sumOf([type], END - 20 + index, END - 19 + index));
  const max = Math.max(...minutes.map(({ received }) => received));
  const whole = minutes.map(({ received }) => (received === 0 ? 0 : Math.max(2, Math.round((received / max) * 20))));
  const failed = minutes.map(({ received, failed: count }, index) =>
    count === 0 ? 0 : Math.max(2, Math.round((count / received) * (whole[index] ?? 0))),
  );
  const shownFailed = barHeights(await row.locator(built('.trend-failed')).getAttribute('d'), 20);
  const shownReceived = barHeights(await row.locator(built('.trend-received')).getAttribute('d'), 20);
  expect(shownFailed).toEqual(failed);
  expect(shownReceived.map((height, index) => height + (shownFailed[index] ?? 0))).toEqual(whole);
}

function rateText(types: readonly string[]): string {
  const { received: current } = sumOf(types, DAY_MINUTES, END);
  const { received: previous } = sumOf(types, DAY_MINUTES - 1, DAY_MINUTES);
  const perMinute = current + previous / 2;
  const shown = (value: number): string => String(value < 9.95 ? Number(value.toFixed(1)) : Math.round(value));
  return `${shown(perMinute)}/min`;
}

function percentText({ failed, completed }: Sum): string {
  if (failed + completed === 0) return '—';
  return failed === 0 ? '0%' : `${((failed / (failed + completed)) * 100).toFixed(1)}%`;
}

async function expectFirstScreen(page: Page): Promise<void> {
  const recent = sumOf(TYPES, END - 6, END);
  const all = sumOf(TYPES, 0, END);
  const kpi = (label: string): Locator => page.locator('.kpi', { hasText: label }).locator('dd');
  await expect(kpi('Received')).toHaveText(/^\d/);
  await expect(kpi('Received').locator('.count')).toHaveAttribute('title', all.received.toLocaleString('en'));
  await expect(kpi('Rate').first()).toHaveText(rateText(TYPES));
  await expect(kpi('Failed')).toHaveText(String(recent.failed));
  await expect(kpi('Failure rate')).toHaveText(percentText(recent));
  await expect(kpi('Pending')).toHaveText('1');
  await expect(page.locator('.kpi', { hasText: 'Pending' })).toContainText('oldest 5 min');
  await expect(kpi('Waiting p95')).toHaveText('0 ms');
  const running = Number(/^~(\d+) ms$/.exec((await kpi('Running p95').textContent()) ?? '')?.[1]);
  expect(Math.abs(running - HANDLER_MS)).toBeLessThanOrEqual(HANDLER_MS / 10);

  for (const type of TYPES) {
    const row = eventRow(page, type);
    const last = sumOf([type], END - 6, END);
    await expect(row.locator('.col-rate')).toHaveText(rateText([type]));
    await expect(row.locator('.col-failed')).toHaveText(String(last.failed));
    await expect(row.locator(built('.col-failures'))).toHaveText(percentText(last));
    await expect(row.locator('.col-pending')).toHaveText('0');
    await expect(row.locator('.col-retried')).toHaveText(String(last.retried));
    await expect(row.locator('.col-received')).toHaveText(sumOf([type], 0, END).received.toLocaleString('en'));
    await expectTrend(row, type);
  }

  const activity = page.locator('.activity');
  await activity.getByText('View data').click();
  for (const [range, stepMinutes, count] of RANGES) {
    await activity.getByRole('button', { name: range, exact: true }).click();
    const expected = periodsOf(TYPES, stepMinutes, count);
    await expect.poll(() => chartData(activity)).toEqual(expected.map(asRow));
    // Periods that are over, and the one that is not.
    const paths = await activity
      .locator(built('.chart-failed'))
      .evaluateAll((parts) => parts.map((part) => part.getAttribute('d')));
    expect(paths).toHaveLength(2);
    const bars = paths.join('');
    expect(bars.split('M').length - 1).toBe(expected.filter(({ failed }) => failed > 0).length);
  }
  await activity.getByText('Hide data').click();
}

async function expectPanel(page: Page, type: string): Promise<void> {
  const panel = eventPanel(page, type);
  const { failed, completed } = sumOf([type], END - 6, END);
  const all = sumOf([type], 0, END);
  await expect(panel).toContainText(`${failed} of ${failed + completed} failed in 5 min`);
  await expect(panel).toContainText(`×${all.failed.toLocaleString('en')}`);
  await expect(panel).toContainText(`Dead letters ${all.failed} open`);
  const stat = (label: string): Locator =>
    panel.locator('dt', { hasText: new RegExp(`^${label}$`) }).locator('+ dd .count');
  await expect(stat('Received')).toHaveText(all.received.toLocaleString('en'));
  await expect(stat('Failed')).toHaveText(String(all.failed));
  const section = panel.locator(built('.panel-section'), { has: page.locator('.chart') });
  await section.getByText('View data').click();
  await section.getByRole('button', { name: '24 h' }).click();
  await expect.poll(() => chartData(section)).toEqual(periodsOf([type], 5, 288).map(asRow));
}

test('after a day every number and bar equals the ledger, at every width, in both themes, after a reload too', {
  tag: '@any-width',
}, async ({ page, serve }) => {
  test.slow();
  const { clock, setup, live } = dayHub();
  const dashboard = await serve(setup);
  await live(dashboard.hub);
  dashboard.intercept = sendTimeOf(clock);
  for (const width of [320, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme: 'light' });
    await page.goto(dashboard.origin);
    await expectFirstScreen(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.reload();
    await expectFirstScreen(page);
  }

  await page.goto(`${dashboard.origin}/#/events/payment.requested`);
  await expectPanel(page, 'payment.requested');

  const [from, to] = [600, 660].map((minute) => DAY_START + minute * 60_000);
  await page.goto(`${dashboard.origin}/#/?from=${from}&to=${to}`);
  const row = eventRow(page, 'order.created');
  await expect(row.locator('.col-received')).toHaveText(String(sumOf(['order.created'], 600, 660).received));
});
