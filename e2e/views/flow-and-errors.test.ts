import { createWorkflow, FatalError, type Hub } from 'hubline';
import type { Locator } from 'playwright/test';
import { built } from '../../scripts/page/built-classes.js';
import { expectAccessible } from '../testing/expect-accessible.js';
import { expect, test } from '../testing/fixtures.js';
import { eventPanel, expectNoOverflow } from '../testing/page-parts.js';

/** Registers an order that is paid, and refused every fourth time, and a workflow that its payment starts. */
function registerOrders(hub: Hub): void {
  hub.event<number>({
    type: 'order.paid',
    onSuccess: 'invoice.sent',
    onFailure: 'order.refused',
    handler({ payload }) {
      if (payload % 4 === 0) throw new FatalError(`card of order ${payload} declined`);
      if (payload === 1) throw new TypeError('no amount');
    },
  });
  hub.event({ type: 'invoice.sent', handler: () => {} });
  hub.event({ type: 'order.refused', handler: () => {} });
  hub.event({ type: 'lone', handler: () => {} });
  const print = hub.workflow(createWorkflow({ name: 'print', run: async () => 'done' }));
  hub.workflow(
    createWorkflow({
      name: 'deliver',
      trigger: 'invoice.sent',
      run: ({ step }) => step.invoke('label', print, null),
    }),
  );
  hub.schedule({ name: 'nightly', cron: '0 3 * * *', emit: 'invoice.sent', payload: {} });
}

test('the map of the flow has the counts of a ledger, opens panels, and reads as a list', async ({ page, serve }) => {
  const { origin, hub } = await serve({ register: registerOrders });
  for (let order = 1; order <= 12; order += 1) await hub.emit('order.paid', order);
  await page.goto(`${origin}/#/flow?every=1`);
  const list = page.getByRole('list', { name: 'Event types, workflows and schedules' });
  const asList = page.getByRole('button', { name: 'List' });
  const isPhone = (page.viewportSize()?.width ?? 0) < 600;
  await expect(asList).toHaveAttribute('aria-pressed', String(isPhone));
  if (isPhone) await asList.click();
  await expect(list.getByRole('link', { name: 'order.paid' })).toContainText('33.3%');
  await expectAccessible(page);
  // Each line has a head.
  await expect(page.locator('svg:has(marker) > path').first()).toHaveCSS('marker-end', /url/);
  await asList.click();
  const source = (name: string): Locator => list.locator(':scope > li').filter({ hasText: new RegExp(`^${name}`) });
  // 12 of 12, 8 and 4 events in at most 6 minutes.
  await expect(source('order.paid').getByRole('link')).toHaveText([
    /^order\.paid, event.*\d\/min33\.3% failed$/,
    /^invoice\.sent, eventon success\d.*\/min$/,
    /^deliver, workflowstarts\d.*\/min$/,
    /^print, workflowinvokes\d.*\/min$/,
    /^order\.refused, eventon failure\d.*\/min$/,
  ]);
  await expect(source('nightly').getByRole('link')).toHaveText([/^nightly, schedule/, /when due · see above$/]);
  await expect(source('lone').getByRole('link')).toHaveText([/^lone, event/]);
  await expectAccessible(page);
  await expectNoOverflow(page);
  await list.getByRole('link', { name: 'order.refused' }).click();
  await expect(page).toHaveURL(/#\/flow\/order\.refused/);
  await expect(eventPanel(page, 'order.refused')).toBeVisible();
});

test('errors are groups with the counts of a ledger, and an open one stays open while more fail', {
  tag: '@any-width',
}, async ({ page, serve }) => {
  const { origin, hub } = await serve({ register: registerOrders });
  for (let order = 1; order <= 12; order += 1) await hub.emit('order.paid', order);
  await page.goto(`${origin}/#/errors?every=1`);
  const declined = page.locator(built('.errors-table tr'), { hasText: 'card of order # declined' });
  await expect(declined.locator('[data-label="Failures, 24 h"]')).toHaveText('3');
  await expect(declined.locator('[data-label="Dead letters"]')).toHaveText('3 open');
  const mistake = page.locator(built('.errors-table tr'), { hasText: 'no amount' });
  await expect(mistake.locator('[data-label="Failures, 24 h"]')).toHaveText(/^1/);
  await declined.getByRole('button', { name: /FatalError/ }).click();
  const failures = page.getByRole('list', { name: 'Newest failures' }).getByRole('listitem');
  await expect(failures).toHaveCount(3);
  await expectAccessible(page);
  await expectNoOverflow(page);
  await hub.emit('order.paid', 16);
  await expect(failures).toHaveCount(4);
  await expect(declined.locator('[data-label="Failures, 24 h"]')).toHaveText('4');
});
