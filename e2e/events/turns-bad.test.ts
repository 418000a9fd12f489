import { FatalError, memoryTransport } from 'hubline';
import { createFakeClock } from 'hubline/testing';
import { built } from '../../scripts/page/built-classes.js';
import { expect, test } from '../testing/fixtures.js';
import { sendTimeOf } from '../testing/page-clock.js';
import { eventRow, expectConnection } from '../testing/page-parts.js';

const minuteMs = 60_000;
const goodEvents = 100_000;
const batch = 1_000;

test('a type that turns bad after 100,000 good events is first on the screen within two polls', {
  tag: '@any-width',
}, async ({ page, serve }) => {
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
  const sendTime = sendTimeOf(clock);
  dashboard.intercept = sendTime;
  /** Responds to two polls. The later ones read that nothing has changed. */
  const respondTwice = (): void => {
    let polls = 0;
    dashboard.intercept = (req, res) => {
      sendTime(req, res);
      if (!req.url?.endsWith('?events=columns')) return false;
      polls += 1;
      if (polls <= 2) return false;
      res.writeHead(req.headers['if-none-match'] === undefined ? 500 : 304).end();
      return true;
    };
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
    await expect(page).toHaveTitle('Events · shop · Hubline');

    isRepaired = false;
    for (let n = 0; n < 40; n += 1) await hub.emit('payment.requested', { fails: n < 38 });
    // The handler serves a body for one second on the hub's clock.
    await clock.advance(1_000);
    respondTwice();
    const worst = attention.getByRole('listitem').first();
    await expect(worst).toHaveText(/payment\.requested[\s\S]*95(\.0)?%/);
    const row = eventRow(page, 'payment.requested');
    await expect(row.locator(built('.col-failures'))).toHaveText('95.0%');
    await expect(page.locator('.row').first()).toContainText('payment.requested');
    const bottomOf = async (element: typeof worst): Promise<number> => {
      const box = await element.boundingBox();
      return box === null ? Number.POSITIVE_INFINITY : box.y + box.height;
    };
    await expect.poll(() => bottomOf(worst)).toBeLessThan(120);
    await expect.poll(() => bottomOf(row)).toBeLessThan(size.height);
    await expect(page).toHaveTitle('(1 failing) Events · shop · Hubline');
    await expect(page.locator('link[rel="icon"]')).toHaveAttribute('href', /b3360b/);

    dashboard.intercept = sendTime;
    isRepaired = true;
    for (const { id } of await hub.deadLetters('payment.requested', { limit: 100 })) await hub.replay(id);
    await clock.advance(1_000);
    await expect(attention).toContainText('Nothing failed in the last 5 min');
    await expect(row).not.toContainText('Failing');
    await expect(page).toHaveTitle('Events · shop · Hubline');
    await expect(page.locator('link[rel="icon"]')).not.toHaveAttribute('href', /b3360b/);
    await expectConnection(page, 'Live');
    await clock.advance(10 * minuteMs);
  }
});
