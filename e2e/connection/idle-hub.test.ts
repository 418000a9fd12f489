import type { ServerResponse } from 'node:http';
import { expect, test } from '../testing/fixtures.js';
import { eventPanel, eventRow } from '../testing/page-parts.js';
import { registerShop } from '../testing/register-shop.js';

const minuteMs = 60_000;

test('on an idle hub, ages and the status of idle types follow the time', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  const dashboard = await serve({ register: registerShop });
  await dashboard.hub.emit('order.created', {});
  await dashboard.hub.emit('payment.requested', {});
  const failedAt = Date.now();
  /** Sends a time after the failure, however long the test takes. */
  const sendTime = (res: ServerResponse, agoMs: number): void => {
    res.setHeader('Date', new Date(failedAt + agoMs + 5_000).toUTCString());
  };
  dashboard.intercept = (_, res) => {
    sendTime(res, 0);
    return false;
  };
  await page.clock.install();
  await page.goto(`${dashboard.origin}/#/events/payment.requested?every=1`);
  const panel = eventPanel(page, 'payment.requested');
  await expect(panel.getByText('Failing')).toBeVisible();
  const failure = panel
    .getByRole('list', { name: 'Errors' })
    .getByRole('listitem')
    .filter({ hasText: 'card declined' });
  await expect(failure).toContainText(/\d s ago/);

  /** Waits for a poll at a later time, which returns 304. */
  const pollLater = async (agoMs: number): Promise<void> => {
    const statuses: number[] = [];
    dashboard.intercept = (_, res) => {
      sendTime(res, agoMs);
      res.on('finish', () => statuses.push(res.statusCode));
      return false;
    };
    await page.clock.fastForward(minuteMs);
    await expect.poll(() => statuses).toContain(304);
  };
  await pollLater(2 * minuteMs);
  await expect(failure).toContainText('2 min ago');
  await pollLater(6 * minuteMs);
  await expect(failure).toContainText('6 min ago');
  await page.keyboard.press('Escape');
  await expect(eventRow(page, 'order.created')).toContainText('Idle');
});
