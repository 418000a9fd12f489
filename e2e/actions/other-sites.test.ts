import { once } from 'node:events';
import { createServer } from 'node:http';
import { type BrowserContext, expect } from 'playwright/test';
import { test } from '../testing/fixtures.js';
import { registerShop } from '../testing/register-shop.js';
import { portOf } from '../testing/start-dashboard.js';
import { withActions } from './operations.js';

/** Page of another site that tries every way in which a page can send a request. */
function attack(target: string, id: string): string {
  const body = JSON.stringify({ id });
  return `<!doctype html><title>attack</title>
    <form id="plain" method="post" enctype="text/plain" target="first" action="${target}/replay">
      <input name='{"id":"${id}","reason":"' value='"}'>
    </form>
    <form id="form" method="post" target="second" action="${target}/replay"><input name="id" value="${id}"></form>
    <iframe name="first"></iframe><iframe name="second"></iframe>
    <script type="module">
      const body = ${JSON.stringify(body)};
      const json = { 'content-type': 'application/json' };
      const tries = [
        () => fetch('${target}/replay', { method: 'POST', mode: 'no-cors', credentials: 'include', body }),
        () => fetch('${target}/replay', { method: 'POST', credentials: 'include', headers: json, body }),
        () => fetch('${target}/replay', { method: 'POST', mode: 'no-cors', credentials: 'include',
          body: new Blob([body], { type: 'application/json' }) }),
        () => navigator.sendBeacon('${target}/replay', new Blob([body], { type: 'text/plain' })),
        () => fetch('${target}/', { credentials: 'include' }).then((response) => response.text()),
        () => fetch('${target}/', { mode: 'no-cors', credentials: 'include' }).then((response) => response.text()),
      ];
      const read = [];
      for (const each of tries) read.push(await Promise.resolve().then(each).catch(() => 'refused'));
      plain.submit();
      form.submit();
      document.title = 'done ' + JSON.stringify(read.filter((text) => typeof text === 'string'));
    </script>`;
}

test('no other site can act or read, however it sends its requests', { tag: '@any-width' }, async ({
  serve,
  browser,
}) => {
  const dashboard = await serve(withActions(registerShop));
  const { hub, origin } = dashboard;
  const { id } = await hub.emit('payment.requested', { card: '4242' });
  await expect.poll(async () => (await hub.metrics('payment.requested')).deadLetters).toBe(1);
  const seen: string[] = [];
  dashboard.intercept = (req, res) => {
    if (req.url?.startsWith('/ops/hub-actions') === true) {
      const { method, headers } = req;
      const isSigned = headers.cookie?.includes('user=ada') === true;
      res.on('finish', () => seen.push(`${method} ${res.statusCode}${isSigned ? ' signed' : ''}`));
    }
    return false;
  };
  const evil = createServer((_, res) => {
    res.setHeader('content-type', 'text/html');
    res.end(attack(`${origin}/ops/hub-actions`, id));
  });
  await once(evil.listen(0, '127.0.0.1'), 'listening');
  let context: BrowserContext | undefined;
  let hosts = 1;
  try {
    // Another port is another origin of the same site, so that cookies are sent; another name is another site.
    for (const host of ['127.0.0.1', 'localhost']) {
      context = await browser.newContext();
      await context.addCookies([{ name: 'user', value: 'ada', url: origin }]);
      const page = await context.newPage();
      await page.goto(`http://${host}:${portOf(evil)}/`);
      await expect.poll(() => page.title()).toContain('done');
      expect(await page.title()).not.toContain('ada');
      // Both forms, one request without CORS, a beacon, and the preflights of the others.
      await expect.poll(() => seen.filter((line) => line.startsWith('POST')).length).toBeGreaterThanOrEqual(4 * hosts);
      hosts += 1;
      await context.close();
    }
  } finally {
    evil.close();
  }
  expect(seen.length).toBeGreaterThan(8);
  expect(seen.some((line) => line.endsWith('signed'))).toBe(true);
  expect(seen.filter((line) => / 2\d\d/.test(line))).toEqual([]);
  expect(await hub.metrics('payment.requested')).toMatchObject({ received: 1, deadLetters: 1 });
  expect(await hub.audit()).toEqual([]);
  // The same request of the page's own origin is carried out.
  const own = await browser.newContext();
  await own.addCookies([{ name: 'user', value: 'ada', url: origin }]);
  const page = await own.newPage();
  await page.goto(origin);
  const status = await page.evaluate(async (body) => {
    const headers = { 'content-type': 'application/json' };
    return (await fetch('/ops/hub-actions/replay', { method: 'POST', headers, body })).status;
  }, JSON.stringify({ id }));
  expect(status).toBe(200);
  await own.close();
});
