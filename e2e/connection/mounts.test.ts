import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import express from 'express';
import helmet from 'helmet';
import type { Hub } from 'hubline';
import type { Page } from 'playwright/test';
import { frameworks } from '../../server/dashboard/frameworks.fixture.js';
import { expect, test } from '../testing/fixtures.js';
import { eventPanel, eventRow, expectConnection, expectCounts } from '../testing/page-parts.js';
import { portOf } from '../testing/start-dashboard.js';

const registerOrders = (hub: Hub): void => {
  hub.event({ type: 'order.created', handler: () => {} });
};

/** Expects that the page at this URL loads both routes and shows this number of events. */
async function expectWorks(page: Page, url: string, hub: Hub, events: number): Promise<void> {
  await hub.emit('order.created', {});
  await page.goto(`${url}#/events/order.created`);
  await expectConnection(page, 'Live');
  await expectCounts(eventRow(page, 'order.created'), events, 0);
  await expect(eventPanel(page, 'order.created').getByText('one attempt')).toBeVisible();
  expect(page.url().split('#')[0]).toBe(url);
}

for (const [name, mountIn] of Object.entries(frameworks)) {
  for (const mount of ['/', '/ops/hub'] as const) {
    test(`works in ${name} at ${mount}, with and without trailing slash, and behind a proxy`, {
      tag: '@any-width',
    }, async ({ page, serve }) => {
      const { origin, hub } = await serve({
        register: registerOrders,
        options: { basePath: mount },
        mountIn: (handler) => mountIn(handler, mount),
      });
      const proxy = await startStrippingProxy('/team', origin);
      const path = mount === '/' ? '' : mount;
      const behindProxy = `http://127.0.0.1:${portOf(proxy)}/team${path}`;
      // Browsers add the slash to an origin without a path.
      const direct = path === '' ? [`${origin}/`] : [origin + path, `${origin}${path}/`];
      const urls = [...direct, behindProxy, `${behindProxy}/`];
      for (const [index, url] of urls.entries()) await expectWorks(page, url, hub, index + 1);
      await page.close();
      proxy.close();
      proxy.closeAllConnections();
    });
  }
}

test('works with the headers of helmet', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin, hub } = await serve({
    register: registerOrders,
    mountIn: (handler) => express().use(helmet()).use('/ops/hub', handler),
  });
  await expectWorks(page, `${origin}/ops/hub`, hub, 1);
});

/** Starts a proxy that forwards paths below `prefix` with the prefix removed. */
async function startStrippingProxy(prefix: string, target: string): Promise<Server> {
  const proxy = createServer(({ url = '', method, headers }, res) => {
    if (!url.startsWith(prefix)) {
      res.writeHead(404).end();
      return;
    }
    const forwarded = request(target + (url.slice(prefix.length) || '/'), { method, headers }, (response) => {
      res.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(res);
    });
    forwarded.on('error', () => res.destroy());
    forwarded.end();
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  return proxy;
}
