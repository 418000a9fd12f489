import { readFile } from 'node:fs/promises';
import { getDashboardHtml } from 'hubline';
import { expect, test } from '../testing/fixtures.js';

test('the served page is the built page', { tag: '@any-width' }, async ({ page, serve }) => {
  const built = await readFile(new URL('../../dist/page/index.html', import.meta.url), 'utf8');
  const { origin } = await serve();
  const response = await page.goto(origin);
  // Compared as a boolean: a diff would print the page twice.
  expect(
    getDashboardHtml() === built,
    'html.generated.ts matches dist/page/index.html; if not, run npm run build:page',
  ).toBe(true);
  expect((await response?.text()) === built, 'the served page matches dist/page/index.html').toBe(true);
});
