import { FatalError, type Hub } from 'hubline';
import { expect, test } from './fixtures.js';
import { eventPanel, eventRow } from './page-parts.js';

const minuteMs = 60_000;

function registerShop(hub: Hub): void {
  hub.event({ type: 'order.created', handler: () => {} });
  hub.event({
    type: 'payment.requested',
    handler() {
      throw new FatalError('card declined');
    },
  });
}

test('on an idle hub, ages and the status of idle types follow the time', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  const dashboard = await serve({ register: registerShop });
  await dashboard.hub.emit('order.created', {});
  await dashboard.hub.emit('payment.requested', {});
  await page.clock.install();
  await page.goto(`${dashboard.origin}/#/events/payment.requested?every=1`);
  const panel = eventPanel(page, 'payment.requested');
  await expect(panel.getByText('Failing')).toBeVisible();
  const failure = panel
    .getByRole('list', { name: 'Errors' })
    .getByRole('listitem')
    .filter({ hasText: 'card declined' });
  await expect(failure).toContainText(/now|\d s ago/);

  /** Waits for a poll at a later time, which returns 304. */
  const pollLater = async (aheadMs: number): Promise<void> => {
    const statuses: number[] = [];
    dashboard.intercept = (_, res) => {
      res.setHeader('Date', new Date(Date.now() + aheadMs).toUTCString());
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
