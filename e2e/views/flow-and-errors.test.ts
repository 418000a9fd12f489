import { createWorkflow, FatalError, type Hub } from 'hubline';
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

test('the map of the flow has the counts of a ledger, opens panels, and reads as a table', async ({ page, serve }) => {
  const { origin, hub } = await serve({ register: registerOrders });
  for (let order = 1; order <= 12; order += 1) await hub.emit('order.paid', order);
  await page.goto(`${origin}/#/flow?every=1`);
  const map = page.getByRole('list', { name: 'Event types, workflows and schedules' });
  const asTable = page.getByRole('button', { name: 'Table' });
  const isPhone = (page.viewportSize()?.width ?? 0) < 600;
  await expect(asTable).toHaveAttribute('aria-pressed', String(isPhone));
  if (isPhone) await asTable.click();
  await expect(map.getByRole('link', { name: 'order.paid' })).toContainText('33.3%');
  await expectAccessible(page);
  await asTable.click();
  const table = page.getByRole('table', { name: /^Ways between/ });
  const ledger = [
    ['order.paid', 'on success', 'invoice.sent', '8'],
    ['order.paid', 'on failure', 'order.refused', '4'],
    ['deliver', 'invokes', 'print', '—'],
    ['invoice.sent', 'starts', 'deliver', '8'],
    ['nightly', 'when due', 'invoice.sent', '—'],
  ] as const;
  for (const [index, [from, relation, to, count]] of ledger.entries()) {
    const row = table.locator('tbody > tr').nth(index);
    await expect(row.getByRole('rowheader')).toHaveText(from);
    await expect(row.getByRole('cell').nth(0)).toHaveText(relation);
    await expect(row.getByRole('cell').nth(1)).toHaveText(to);
    await expect(row.locator('[data-label="Events, 5 min"]')).toHaveText(count);
  }
  // A type that no way leads to has a row of its own.
  const first = table.locator('tbody > tr').filter({ has: page.getByRole('rowheader', { name: 'outside' }) });
  await expect(first.locator('td:nth-child(3)')).toHaveText(['lone', 'order.paid']);
  await expect(first.locator('[data-label="Failure rate"]')).toHaveText(['—', '33.3%']);
  await expectAccessible(page);
  await expectNoOverflow(page);
  await table.getByRole('link', { name: 'order.refused' }).click();
  await expect(page).toHaveURL(/#\/flow\/order\.refused/);
  await expect(eventPanel(page, 'order.refused')).toBeVisible();
});

test('errors are groups with the counts of a ledger, and an open one stays open while more fail', {
  tag: '@any-width',
}, async ({ page, serve }) => {
  const { origin, hub } = await serve({ register: registerOrders });
  for (let order = 1; order <= 12; order += 1) await hub.emit('order.paid', order);
  await page.goto(`${origin}/#/errors?every=1`);
  const declined = page.locator('.errors-table tr', { hasText: 'card of order # declined' });
  await expect(declined.locator('[data-label="Failures, 24 h"]')).toHaveText('3');
  await expect(declined.locator('[data-label="Dead letters"]')).toHaveText('3 open');
  const mistake = page.locator('.errors-table tr', { hasText: 'no amount' });
  await expect(mistake.locator('[data-label="All failures"]')).toHaveText('1');
  await declined.getByRole('button', { name: /FatalError/ }).click();
  const failures = page.getByRole('list', { name: 'Newest failures' }).getByRole('listitem');
  await expect(failures).toHaveCount(3);
  await expectAccessible(page);
  await expectNoOverflow(page);
  await hub.emit('order.paid', 16);
  await expect(failures).toHaveCount(4);
  await expect(declined.locator('[data-label="Failures, 24 h"]')).toHaveText('4');
});
