import { built } from '../../scripts/page/built-classes.js';
import { REQUEST_ID } from '../../ui/testing/answer-request.js';
import { EXTREMES, LOADS, type Load } from '../../ui/testing/loads.js';
import { serveAnswers } from '../testing/answering-dashboard.js';
import { expect, test } from '../testing/fixtures.js';
import { expectNoOverflow } from '../testing/page-parts.js';

const WIDTHS = [320, 390, 620, 700, 768, 1000, 1280, 1920];

/** Letters of a text that is cut off, of which at least this many show. */
const MIN_LETTERS = 3;

/** Lists the texts of the page that end outside their card, touch their neighbour or are cut to a few letters. */
const faults = `(() => {
  const found = [];
  const name = (element) => element.className + ' "' + element.textContent.slice(0, 40) + '"';
  // Texts for screen readers alone are clipped.
  const isClipped = (element) =>
    element !== null && (getComputedStyle(element).clipPath === 'inset(50%)' || isClipped(element.parentElement));
  const elements = [...document.body.querySelectorAll('*')].filter(
    (element) => element.checkVisibility() && !element.closest('option') && !isClipped(element),
  );
  for (const element of elements) {
    const texts = [...element.childNodes].filter((node) => node.nodeType === 3 && node.data.trim() !== '');
    if (texts.length === 0) continue;
    const range = document.createRange();
    range.setStartBefore(texts[0]);
    range.setEndAfter(texts.at(-1));
    const text = range.getBoundingClientRect();
    let { left, right, top, bottom } = text;
    for (let outer = element; outer !== null; outer = outer.parentElement) {
      if (getComputedStyle(outer).overflowX === 'visible') continue;
      const box = outer.getBoundingClientRect();
      [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
      [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
    }
    // A text of which nothing shows is not cut.
    if (right - left < 1 || bottom - top < text.height / 2) continue;
    const letter = text.width / element.textContent.length;
    if (right - left < Math.min(text.width - 1, ${MIN_LETTERS} * letter)) found.push('cut: ' + name(element));
    const card = element.closest('.card')?.getBoundingClientRect();
    if (card && (right > card.right || left < card.left)) found.push('outside its card: ' + name(element));
  }
  for (const element of elements) {
    const next = element.nextElementSibling;
    if (!element.matches('${built('.status, .tag, .chart-time > span')}') || !elements.includes(next)) continue;
    const [box, after] = [element.getBoundingClientRect(), next.getBoundingClientRect()];
    const isBeside = after.left >= box.left && after.top < box.bottom && box.top < after.bottom;
    if (isBeside && after.left - box.right < 4) found.push('touches its neighbour: ' + name(element));
  }
  return found;
})()`;

const hour = 3_600_000;

for (const [subject, loads, hashes] of [
  [
    'a hub in trouble',
    LOADS,
    [
      '',
      '?range=7d',
      '?every=off',
      '?group=prefix',
      'events/refund.requested',
      `requests/${REQUEST_ID}`,
      'agents',
      'workflows',
    ],
  ],
  ['names of any length', EXTREMES, ['', '?every=off', `events/${encodeURIComponent(EXTREMES[0]?.type ?? '')}`]],
] satisfies readonly (readonly [string, readonly Load[], readonly string[]])[]) {
  test(`every text of ${subject} is readable at any width`, { tag: '@any-width' }, async ({ page, serve }) => {
    const { dashboard, now } = await serveAnswers(serve, loads);
    const selected = `?from=${now() - hour / 2}&to=${now() - hour / 6}`;
    await page.goto(dashboard.origin);
    await page.getByRole('heading', { name: 'shop' }).waitFor();
    for (const hash of [...hashes, selected]) {
      await page.evaluate(`location.hash = ${JSON.stringify(`#/${hash}`)}`);
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        await expectNoOverflow(page, `#/${hash} at ${width} px`);
        await expect.poll(() => page.evaluate(faults), `#/${hash} at ${width} px`).toEqual([]);
      }
    }
  });
}
