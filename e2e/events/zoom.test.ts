import type { Locator, Page } from 'playwright/test';
import { built } from '../../scripts/page/built-classes.js';
import { serveAnswers } from '../testing/answering-dashboard.js';
import { expectAccessible } from '../testing/expect-accessible.js';
import { expect, test } from '../testing/fixtures.js';
import { stopClock } from '../testing/page-clock.js';

const chartOf = (page: Page): Locator => page.locator('.activity').getByRole('slider');

/** Returns the number of periods that the chart shows. */
async function periods(page: Page): Promise<number> {
  return Number(await chartOf(page).getAttribute('aria-valuemax')) + 1;
}

/** Returns points of the plot at these parts of its width. */
async function pointsAt(page: Page, ...parts: readonly number[]): Promise<readonly { x: number; y: number }[]> {
  const box = await chartOf(page).boundingBox();
  if (box === null) throw new Error('the chart is not on the page');
  return parts.map((part) => ({ x: box.x + box.width * part, y: box.y + 40 }));
}

const isZoomed = /^Events per second, .*\d\d:\d\d–\d\d:\d\d$/;

test('a dragged part fills the chart with finer periods, and every way leads back', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  const { dashboard } = await serveAnswers(serve);
  await page.goto(`${dashboard.origin}/#/?range=24h`);
  await expect(chartOf(page)).toHaveAccessibleName('Events per second, last 24 h');
  const drag = async (from: number, to: number): Promise<void> => {
    const [start, end] = await pointsAt(page, from, to);
    if (start === undefined || end === undefined) throw new Error('no points');
    await page.mouse.move(start.x, start.y);
    await page.mouse.down();
    await page.mouse.move(end.x, end.y);
    await page.mouse.up();
  };
  await drag(0.5, 0.995);
  await expect(chartOf(page)).toHaveAccessibleName(isZoomed);
  const half = await periods(page);
  expect(Math.abs(half - 144)).toBeLessThan(8);
  await drag(0.94, 0.995);
  // The last hour is known by the minute.
  await expect.poll(() => page.locator(built('.activity .chart-time span')).count()).toBeGreaterThan(0);
  await expect.poll(() => periods(page)).not.toBe(half);
  const name = (await chartOf(page).getAttribute('aria-label')) ?? '';
  await page.reload();
  await expect(chartOf(page)).toHaveAccessibleName(name);
  await expectAccessible(page);
  await page.goBack();
  await expect.poll(() => periods(page)).toBe(half);
  await page.getByRole('button', { name: 'Zoom out' }).click();
  await expect(chartOf(page)).toHaveAccessibleName('Events per second, last 24 h');
  await expect(page.getByRole('button', { name: /clear the selected period$/ })).toHaveCount(0);
});

test('keys select, zoom in and out', { tag: '@any-width' }, async ({ page, serve }) => {
  const { dashboard } = await serveAnswers(serve);
  await page.goto(dashboard.origin);
  await chartOf(page).waitFor();
  const topOf = async (): Promise<number | undefined> => (await page.locator('.toolbar').boundingBox())?.y;
  const top = await topOf();
  await chartOf(page).focus();
  for (const key of ['Home', ...Array<string>(9).fill('Shift+ArrowRight'), 'Enter']) await page.keyboard.press(key);
  await expect(chartOf(page)).toHaveAccessibleName(isZoomed);
  expect(await periods(page)).toBe(10);
  await expect.poll(topOf).toBe(top);
  await page.keyboard.press('Escape');
  await expect(chartOf(page)).toHaveAccessibleName('Events per second, last 1 h');
  // A range of the picker replaces the selection.
  for (const key of ['Home', ...Array<string>(9).fill('Shift+ArrowRight'), 'Enter']) await page.keyboard.press(key);
  await page.locator('.activity').getByRole('button', { name: '7 d' }).click();
  await expect(chartOf(page)).toHaveAccessibleName('Events per second, last 7 d');
  expect(page.url()).not.toContain('from=');
});

test('a finger reads the points, and selects after it was held still', async ({ page, serve }) => {
  const { dashboard } = await serveAnswers(serve);
  await page.clock.install();
  await page.goto(dashboard.origin);
  await chartOf(page).waitFor();
  // A slow machine does not hold the finger still.
  await stopClock(page);
  const session = await page.context().newCDPSession(page);
  const [start, end] = await pointsAt(page, 0.2, 0.8);
  if (start === undefined || end === undefined) throw new Error('no points');
  const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', points: { x: number; y: number }[]) =>
    session.send('Input.dispatchTouchEvent', { type, touchPoints: points });
  await touch('touchStart', [start]);
  await touch('touchMove', [end]);
  await expect(page.locator(built('.chart-tooltip'))).toBeVisible();
  await touch('touchEnd', []);
  await expect(chartOf(page)).toHaveAccessibleName('Events per second, last 1 h');

  await touch('touchStart', [start]);
  await page.clock.runFor(300);
  await expect(page.locator(built('.chart-plot[data-selecting="true"]'))).toBeVisible();
  await touch('touchMove', [end]);
  await touch('touchEnd', []);
  await expect(chartOf(page)).toHaveAccessibleName(isZoomed);
  expect(Math.abs((await periods(page)) - 37)).toBeLessThan(3);
});
