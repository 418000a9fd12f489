import { readFile } from 'node:fs/promises';
import { getDashboardHtml } from 'hubline';
import { expect, test } from './fixtures.js';

test('the page that is served is the page that was built', async ({ page, serve }) => {
  const built = await readFile(new URL('../dist/page/index.html', import.meta.url), 'utf8');
  const { origin } = await serve();
  const response = await page.goto(origin);
  // Compared here, for a report of the difference would hold the page twice.
  expect(getDashboardHtml() === built, 'html.generated.ts is of dist/page/index.html: npm run build:page').toBe(true);
  expect((await response?.text()) === built, 'what is served is dist/page/index.html').toBe(true);
});
