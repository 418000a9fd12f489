import { built } from '../../scripts/page/built-classes.js';
import { formatRate } from '../../ui/format/number.js';
import { serveAnswers } from '../testing/answering-dashboard.js';
import { expect, test } from '../testing/fixtures.js';

const FIVE_MINUTES = 300_000;

test('the chart shows counts, the failure rate or latencies, and yesterday beside today', {
  tag: '@any-width',
}, async ({ page, serve }) => {
  const { dashboard, answers, now } = await serveAnswers(serve);
  await page.goto(`${dashboard.origin}/#/?range=24h&every=off`);
  const activity = page.locator('.activity');
  const values = activity.getByRole('group', { name: 'Values of the chart' });
  // Also where the title is cut off.
  await expect(activity.locator(built('.chart-scale > span')).first()).toHaveText(/\d\/s$/);
  await values.getByRole('button', { name: 'Failure %' }).click();
  await expect(activity.getByRole('slider', { name: 'Failure rate, last 24 h' })).toBeVisible();
  await expect(activity.locator(built('.chart-scale > span')).first()).toHaveText(/%$/);
  await values.getByRole('button', { name: 'Latency' }).click();
  await expect(activity.getByRole('slider', { name: 'Durations, p95, last 24 h' })).toHaveAttribute(
    'aria-valuetext',
    /waiting p95 ~12 ms, running p95 ~240 ms/,
  );
  await expect(activity.locator(built('.chart-scale > span')).first()).toHaveText(/ms$/);
  // Failed events have a scale of their own, whatever the lines show.
  await expect(activity.locator(built('.chart-scale > span')).last()).toHaveText(/\d\/(s|min)$/);
  await expect(page).toHaveURL(/chart=latency/);

  await values.getByRole('button', { name: 'Count' }).click();
  await activity.getByRole('button', { name: 'Yesterday' }).click();
  const chart = activity.getByRole('slider', { name: 'Events per second, last 24 h' });
  await chart.focus();
  await page.keyboard.press('Home');
  // The first of 288 points, a day before: the history has 49 hours.
  const { startAt, received } = answers.introspection(now()).totals.histories.fiveMinutes;
  const first = Math.floor(now() / FIVE_MINUTES) * FIVE_MINUTES - 287 * FIVE_MINUTES;
  const ledger = received[(first - 86_400_000 - startAt) / FIVE_MINUTES] ?? 0;
  const line = activity.locator(built('.chart-tooltip dl > div')).filter({ hasText: 'Yesterday' });
  await expect(line).toContainText(formatRate(ledger / 300));
  await expect(activity.locator(built('path.chart-yesterday'))).toHaveAttribute('d', /^M/);
});

for (const width of [1_920, 2_560]) {
  test(`the first screen uses the width of ${width} px`, { tag: '@any-width' }, async ({ page, serve }) => {
    const { dashboard } = await serveAnswers(serve);
    await page.setViewportSize({ width, height: 1_080 });
    await page.goto(dashboard.origin);
    for (const part of [page.locator('.overview'), page.getByRole('table', { name: /^Event types/ })]) {
      expect((await part.boundingBox())?.width ?? 0).toBeGreaterThan(0.9 * width);
    }
    const sizeOf = (part: string): Promise<number> =>
      page.evaluate(`parseFloat(getComputedStyle(document.querySelector('.kpi > ${part}')).fontSize)`);
    // A figure stands out from its caption.
    expect(await sizeOf('dd')).toBeGreaterThan(1.6 * (await sizeOf('dt')));
  });
}
