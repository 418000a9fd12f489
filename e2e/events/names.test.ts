import type { Hub } from 'hubline';
import { built } from '../../scripts/page/built-classes.js';
import { expect, test } from '../testing/fixtures.js';
import { eventPanel, eventRow, expectCounts, expectNoOverflow } from '../testing/page-parts.js';

const names = [
  '<img src=x onerror=alert(1)>',
  '"><script>alert(1)</script>',
  'a/b',
  '../../api/introspection',
  '50%',
  '%2F',
  'a?b#c&d=e',
  '__proto__',
  'constructor',
  '日本',
  'x'.repeat(300),
];

function registerAll(hub: Hub): void {
  for (const type of names) hub.event({ type, handler: () => {} });
}

test('any name is shown unchanged and opens its panel', async ({ page, serve }) => {
  const { origin, hub } = await serve({ register: registerAll });
  for (const type of names) await hub.emit(type, {});
  await page.goto(`${origin}/#/?every=1`);
  for (const type of names) {
    const row = eventRow(page, type);
    await expectCounts(row, 1, 0);
    await row.getByRole('link').click();
    const panel = eventPanel(page, type);
    await expect(panel.getByRole('heading', { name: type, exact: true })).toBeVisible();
    await expect(panel.locator('dt', { hasText: 'Received' }).locator('+ dd')).toHaveText('1');
    await page.keyboard.press('Escape');
    await expect(panel).toBeHidden();
  }
  await expectNoOverflow(page);
});

test('any name has its own link', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin } = await serve({ register: registerAll });
  for (const type of names) {
    await page.goto('about:blank');
    await page.goto(`${origin}/#/events/${encodeURIComponent(type)}`);
    const panel = eventPanel(page, type);
    await expect(panel.getByRole('heading', { name: type, exact: true })).toBeVisible();
    await expect(panel.getByText('one attempt')).toBeVisible();
  }
});

test.describe('an unknown event type', () => {
  test.use({ expectsOutages: true });

  test('is reported in the panel', { tag: '@any-width' }, async ({ page, serve }) => {
    const { origin } = await serve();
    await page.goto(`${origin}/#/events/order.lost`);
    await expect(eventPanel(page, 'order.lost')).toContainText('No such event type.');
  });
});

const regions = ['eu', 'us'].map((region) => `analytics.segments.recalculated.region_${region}.nightly.finished`);

/** What each row shows of its name, without what is cut off. */
const shownNames = `[...document.querySelectorAll('${built('.row-link')}')].map((link) =>
  [...link.querySelectorAll('${built('.name-head, .name-tail')}')].map((part) => {
    // An ellipsis takes the place of a character.
    const end = part.getBoundingClientRect().right - (part.scrollWidth > part.clientWidth ? 8 : 0);
    const range = document.createRange();
    return [...part.textContent].filter((_, at) => {
      range.setStart(part.firstChild, at);
      range.setEnd(part.firstChild, at + 1);
      return range.getBoundingClientRect().right <= end;
    }).join('');
  }).join('…'))`;

test('long names that differ in the middle alone are told apart, however little room they have', async ({
  page,
  serve,
}) => {
  const { origin } = await serve({
    register: (hub) => {
      for (const type of regions) hub.event({ type, handler: () => {} });
    },
  });
  for (const path of ['', `events/${regions[0]}`]) {
    await page.goto(`${origin}/#/${path}?every=off`);
    await expect(page.locator(built('.row-link'))).toHaveCount(2);
    const shown = await page.evaluate<string[]>(shownNames);
    expect(shown).toEqual([expect.stringMatching(/…\w*eu/), expect.stringMatching(/…\w*us/)]);
  }
});
