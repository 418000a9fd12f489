import { FatalError, memoryTransport } from 'hubline';
import { createFakeClock } from 'hubline/testing';
import { expect, test } from './fixtures.js';
import { eventRow, expectConnection } from './page-parts.js';

const minuteMs = 60_000;
const goodEvents = 1_000_000;
const batch = 1_000;

test('a type that turns bad after a million good events is first on the screen within two polls', {
  tag: '@any-width',
}, async ({ page, serve }) => {
  test.setTimeout(100_000);
  const clock = createFakeClock();
  let isRepaired = false;
  const dashboard = await serve({
    hubOptions: { transport: memoryTransport({ clock }), concurrency: batch },
    register: (hub) => {
      // Names before and after: nothing but its status brings the type to the top.
      for (let n = 0; n < 60; n += 1) hub.event({ type: `${n % 2 === 0 ? 'audit' : 'stock'}.${n}`, handler: () => {} });
      hub.event<{ fails: boolean }>({
        type: 'payment.requested',
        handler({ payload }) {
          if (payload.fails && !isRepaired) throw new FatalError('card declined');
        },
      });
    },
  });
  const { hub } = dashboard;
  dashboard.intercept = (_, res) => {
    res.setHeader('Date', new Date(clock.now()).toUTCString());
    return false;
  };
  const events = Array.from({ length: batch }, () => ({ payload: { fails: false } }));
  for (let sent = 0; sent < goodEvents; sent += batch) {
    await hub.emitMany('payment.requested', events);
    await clock.settle();
  }
  for (let n = 0; n < 60; n += 1) await hub.emit(`${n % 2 === 0 ? 'audit' : 'stock'}.${n}`, null);
  await clock.advance(10 * minuteMs);

  for (const size of [
    { width: 320, height: 700 },
    { width: 1280, height: 800 },
  ]) {
    await page.setViewportSize(size);
    await page.goto(`${dashboard.origin}/#/?every=1`);
    const attention = page.getByRole('region', { name: 'Needs attention' });
    await expect(attention).toContainText('Nothing failed in the last 5 min');
    await expect(page).toHaveTitle('shop · Hubline');

    isRepaired = false;
    for (let n = 0; n < 40; n += 1) await hub.emit('payment.requested', { fails: n < 38 });
    // The handler serves a body for one second on the hub's clock.
    await clock.advance(1_000);
    const poll = (): Promise<unknown> => page.waitForResponse((response) => response.url().endsWith('?events=columns'));
    await poll();
    await (await page.waitForResponse((response) => response.url().endsWith('?events=columns'))).finished();
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))');

    // Read at once: a retry would wait for a third poll.
    const worst = attention.getByRole('listitem').first();
    expect(await worst.textContent()).toMatch(/payment\.requested[\s\S]*95(\.0)?%/);
    const row = eventRow(page, 'payment.requested');
    expect(await row.locator('.col-failures').textContent()).toBe('95.0%');
    expect(await page.locator('.row').first().textContent()).toContain('payment.requested');
    const bottomOf = async (element: typeof worst): Promise<number> => {
      const box = await element.boundingBox();
      return box === null ? Number.POSITIVE_INFINITY : box.y + box.height;
    };
    expect(await bottomOf(worst)).toBeLessThan(120);
    expect(await bottomOf(row)).toBeLessThan(size.height);
    expect(await page.title()).toBe('(1 failing) shop · Hubline');
    expect(await page.locator('link[rel="icon"]').getAttribute('href')).toContain('b3360b');

    isRepaired = true;
    for (const { id } of await hub.deadLetters('payment.requested', { limit: 100 })) await hub.replay(id);
    await clock.advance(1_000);
    await expect(attention).toContainText('Nothing failed in the last 5 min');
    await expect(row).not.toContainText('Failing');
    await expect(page).toHaveTitle('shop · Hubline');
    await expect(page.locator('link[rel="icon"]')).not.toHaveAttribute('href', /b3360b/);
    await expectConnection(page, 'Live');
    await clock.advance(10 * minuteMs);
  }
});
