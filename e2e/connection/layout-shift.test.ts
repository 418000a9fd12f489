import { FatalError, type Hub } from 'hubline';
import { expect, test } from '../testing/fixtures.js';
import { eventRow, expectConnection, expectCounts } from '../testing/page-parts.js';

test.use({ expectsOutages: true });

// Runs in the page: sums the browser's layout-shift values, without elements that float above the page.
const sumShifts = `
  globalThis.shift = 0;
  new PerformanceObserver((list) => {
    for (const { value, sources } of list.getEntries()) {
      if (sources.some(({ node }) => node?.closest?.('.page, .panel'))) globalThis.shift += value;
    }
  }).observe({ type: 'layout-shift', buffered: true });
`;

/** Maximum shift. Browsers call up to 0.1 good; a header row that appears late causes 0.3. */
const maxShift = 0.02;

function registerShop(hub: Hub): void {
  hub.event({
    type: 'payment.requested',
    handler() {
      throw new FatalError('card declined');
    },
  });
}

test('the layout does not shift on the first response, on a lost connection, or on recovery', async ({
  page,
  serve,
}) => {
  const dashboard = await serve({ register: registerShop });
  await dashboard.hub.emit('payment.requested', {});
  await page.addInitScript(sumShifts);
  const passThrough = dashboard.intercept;
  dashboard.intercept = ({ url = '' }) => url.includes('/api/');
  await page.goto(`${dashboard.origin}/#/?every=1`);
  await expectConnection(page, 'Connecting');
  dashboard.intercept = passThrough;
  await page.keyboard.press('r');
  await expectCounts(eventRow(page, 'payment.requested'), 1, 1);
  dashboard.intercept = ({ url = '' }, res) => {
    if (!url.includes('/api/')) return false;
    res.writeHead(503).end();
    return true;
  };
  await expect(page.getByRole('region', { name: 'Connection' })).toBeVisible();
  dashboard.intercept = passThrough;
  await expectConnection(page, 'Live');
  expect(await page.evaluate<number>('shift')).toBeLessThan(maxShift);
});
