import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { Hub } from 'hubline';
import type { Page } from 'playwright/test';
import { expect, test } from './fixtures.js';
import { eventPanel, eventRow, expectConnection, expectCounts } from './page-parts.js';
import { portOf } from './start-dashboard.js';

const registerOrders = (hub: Hub): void => {
  hub.event({ type: 'order.created', handler: () => {} });
};

/** The page polls both its routes at this address. */
async function expectWorks(page: Page, url: string, hub: Hub): Promise<void> {
  await page.goto(`${url}#/?every=1`);
  await expectConnection(page, 'Live');
  await hub.emit('order.created', {});
  await expectCounts(eventRow(page, 'order.created'), 1, 1, 0);
  await eventRow(page, 'order.created').getByRole('link').click();
  await expect(eventPanel(page, 'order.created').getByText('None.')).toBeVisible();
  expect(new URL(page.url()).href.split('#')[0]).toBe(new URL(url).href);
}

for (const path of ['/ops/hub', '/ops/hub/']) {
  test(`works mounted at ${path}`, async ({ page, serve }) => {
    const { origin, hub } = await serve({ register: registerOrders, options: { basePath: '/ops/hub' } });
    await expectWorks(page, origin + path, hub);
  });
}

for (const path of ['/team/hub', '/team/hub/']) {
  test(`works behind a proxy that strips a prefix, at ${path}`, async ({ page, serve }) => {
    const { origin, hub } = await serve({ register: registerOrders });
    const proxy = await startStrippingProxy('/team/hub', origin);
    await expectWorks(page, `http://127.0.0.1:${portOf(proxy)}${path}`, hub);
    await page.close();
    proxy.close();
    proxy.closeAllConnections();
  });
}

async function startStrippingProxy(prefix: string, target: string): Promise<Server> {
  const proxy = createServer(({ url = '', method, headers }, res) => {
    if (!url.startsWith(prefix)) {
      res.writeHead(404).end();
      return;
    }
    const forwarded = request(target + (url.slice(prefix.length) || '/'), { method, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    forwarded.end();
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  return proxy;
}
