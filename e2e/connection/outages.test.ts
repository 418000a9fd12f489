import { setTimeout as delay } from 'node:timers/promises';
import type { Hub } from 'hubline';
import type { Locator, Page } from 'playwright/test';
import { expectAccessible } from '../testing/expect-accessible.js';
import { expect, test } from '../testing/fixtures.js';
import { eventPanel, eventRow, expectConnection, expectCounts } from '../testing/page-parts.js';
import type { Interceptor, RunningDashboard } from '../testing/start-dashboard.js';

test.use({ expectsOutages: true });

const registerOrders = (hub: Hub): void => {
  hub.event({ type: 'order.created', handler: () => {} });
};

/** Opens the page and waits until it shows five events. */
async function openWithFiveEvents(page: Page, { origin, hub }: RunningDashboard): Promise<Locator> {
  for (let i = 0; i < 5; i += 1) await hub.emit('order.created', {});
  await page.goto(`${origin}/#/?every=1`);
  const row = eventRow(page, 'order.created');
  await expectCounts(row, 5, 0);
  return row;
}

// Runs in the page: collects every negative number that a cell or a definition shows.
const collectNegativeNumbers = `(() => {
  const found = [];
  new MutationObserver(() => {
    for (const { textContent } of document.querySelectorAll('td, dd')) {
      if (/^\\s*[-−]\\s*\\d/.test(textContent)) found.push(textContent);
    }
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
  return found;
})()`;

test('the server stops and restarts with its counters at zero', { tag: '@any-width' }, async ({ page, serve }) => {
  const dashboard = await serve({ register: registerOrders });
  const row = await openWithFiveEvents(page, dashboard);
  const negativeNumbers = await page.evaluateHandle(collectNegativeNumbers);
  const banner = page.getByRole('region', { name: 'Connection' });
  await expect(banner).toBeHidden();

  await dashboard.kill();
  await expectConnection(page, 'Lost');
  await expect(banner).toContainText('The server does not respond.');
  await expect(banner).toContainText(/The data is from .+ old\./);
  await expectCounts(row, 5, 0);

  await dashboard.restart();
  await expectConnection(page, 'Live');
  await expect(banner).toBeHidden();
  await expectCounts(row, 0, 0);

  await dashboard.hub.emit('order.created', {});
  await expectCounts(row, 1, 0);
  expect(await negativeNumbers.jsonValue()).toEqual([]);
});

const apiResponds = (status: number, contentType: string, body: string): Interceptor => {
  return ({ url = '' }, res) => {
    if (!url.includes('/api/')) return false;
    res.writeHead(status, { 'Content-Type': contentType }).end(body);
    return true;
  };
};

const outages = [
  {
    name: 'a sign-in page instead of JSON',
    intercept: apiResponds(200, 'text/html', '<!doctype html><title>Sign in</title>'),
    message: 'The response is not JSON. It may come from a proxy or a sign-in page.',
  },
  {
    name: 'JSON of another shape',
    intercept: apiResponds(200, 'application/json', '{"protocol":2,"hub":null}'),
    message: 'The response has an unexpected shape: body.hub is null, expected an object.',
  },
  {
    name: 'a newer protocol',
    intercept: apiResponds(200, 'application/json', '{"protocol":3,"hub":{"name":"shop"}}'),
    message: 'This page reads protocol 2, but the server sends protocol 3. Reload the page to get a matching version.',
  },
  {
    name: '401 from a proxy',
    intercept: apiResponds(401, 'text/html', '<h1>Unauthorized</h1>'),
    message: 'You are not signed in (401). Sign in and retry.',
  },
  {
    name: '403',
    intercept: apiResponds(403, 'text/html', '<h1>Forbidden</h1>'),
    message: 'You have no access to this dashboard (403).',
  },
  {
    name: '503 from a proxy',
    intercept: apiResponds(503, 'text/html', '<h1>Service Unavailable</h1>'),
    message: 'The server is not ready (503).',
  },
];

for (const { name, intercept, message } of outages) {
  test(`${name} is reported, and the page recovers`, { tag: '@any-width' }, async ({ page, serve }) => {
    const dashboard = await serve({ register: registerOrders });
    const row = await openWithFiveEvents(page, dashboard);
    const passThrough = dashboard.intercept;
    dashboard.intercept = intercept;
    await expectConnection(page, 'Lost');
    await expect(page.getByRole('region', { name: 'Connection' })).toContainText(message);
    await expectCounts(row, 5, 0);
    dashboard.intercept = passThrough;
    await expectConnection(page, 'Live');
    await expect(page.getByRole('region', { name: 'Connection' })).toBeHidden();
  });
}

test('an expired session is reported, and the page recovers after sign-in', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  const session = { isValid: true };
  const dashboard = await serve({ register: registerOrders, options: { authorize: async () => session.isValid } });
  const row = await openWithFiveEvents(page, dashboard);
  session.isValid = false;
  await expect(page.getByRole('region', { name: 'Connection' })).toContainText('You are not signed in (401).');
  await expectConnection(page, 'Lost');
  await expectCounts(row, 5, 0);
  await expectAccessible(page);
  await expect(page.getByRole('region', { name: 'Connection' })).toMatchAriaSnapshot(`
    - region "Connection":
      - paragraph:
        - strong: You are not signed in (401). Sign in and retry.
        - text: /The data is from/
      - button "Retry now"
  `);
  await page.getByRole('button', { name: 'Retry now' }).focus();
  session.isValid = true;
  await page.keyboard.press('Enter');
  await expectConnection(page, 'Live');
});

test('a slow server is reported, and its data is shown', { tag: '@any-width' }, async ({ page, serve }) => {
  const server = { responseMs: 2_000 };
  const authorize = (): Promise<boolean> => delay(server.responseMs, true);
  const dashboard = await serve({ register: registerOrders, options: { authorize } });
  const row = await openWithFiveEvents(page, dashboard);
  await expect(page.getByRole('banner')).toContainText(/Slow 2\.\d s/);
  await dashboard.hub.emit('order.created', {});
  await expectCounts(row, 6, 0);
  server.responseMs = 0;
  await expectConnection(page, 'Live');
});

test('a panel whose details fail to load reports it, retains the last ones, and recovers', {
  tag: '@any-width',
}, async ({ page, serve }) => {
  const dashboard = await serve({ register: registerOrders });
  const row = await openWithFiveEvents(page, dashboard);
  await row.getByRole('link').click();
  const panel = eventPanel(page, 'order.created');
  await expect(panel.getByText('one attempt')).toBeVisible();
  const passThrough = dashboard.intercept;
  dashboard.intercept = ({ url = '' }, res) => {
    if (!url.includes('/api/events/')) return false;
    res.writeHead(500).end();
    return true;
  };
  const notice = panel.getByText(
    'The server responded with an error (500). The data is from the last successful response.',
  );
  await expect(notice).toBeVisible();
  await expect(panel.getByText('one attempt')).toBeVisible();
  dashboard.intercept = passThrough;
  await expect(notice).toBeHidden();
});
