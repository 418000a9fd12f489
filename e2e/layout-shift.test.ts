import { FatalError, type Hub } from 'hubline';
import { expect, test } from './fixtures.js';
import { eventRow, expectConnection, expectCounts } from './page-parts.js';

test.use({ expectsOutages: true });

// Runs in the page: adds up what moved by itself, in the browser's own measure, but for what floats over the page.
const addUpShifts = `
  globalThis.shift = 0;
  new PerformanceObserver((list) => {
    for (const { value, sources } of list.getEntries()) {
      if (sources.some(({ node }) => node?.closest?.('.page, .panel'))) globalThis.shift += value;
    }
  }).observe({ type: 'layout-shift', buffered: true });
`;

/** What the browser's makers call good ends at 0.1; a row of the header that comes late is 0.3. */
const tolerated = 0.02;

function registerShop(hub: Hub): void {
  hub.event({
    type: 'payment.requested',
    handler() {
      throw new FatalError('card declined');
    },
  });
}

test('nothing moves when the first answer comes, when the server goes, and when it is back', async ({
  page,
  serve,
}) => {
  const dashboard = await serve({ register: registerShop });
  await dashboard.hub.emit('payment.requested', {});
  await page.addInitScript(addUpShifts);
  const answering = dashboard.front;
  dashboard.front = ({ url = '' }) => url.includes('/api/');
  await page.goto(`${dashboard.origin}/#/?every=1`);
  await expectConnection(page, 'Connecting');
  dashboard.front = answering;
  await page.getByRole('button', { name: 'Refresh now' }).click();
  await expectCounts(eventRow(page, 'payment.requested'), 1, 0, 1);
  dashboard.front = ({ url = '' }, res) => {
    if (!url.includes('/api/')) return false;
    res.writeHead(503).end();
    return true;
  };
  await expect(page.getByRole('region', { name: 'Connection' })).toBeVisible();
  dashboard.front = answering;
  await expectConnection(page, 'Live');
  expect(await page.evaluate<number>('shift')).toBeLessThan(tolerated);
});
