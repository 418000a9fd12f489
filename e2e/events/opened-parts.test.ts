import { createWorkflow, FatalError } from 'hubline';
import { expect, test } from '../testing/fixtures.js';
import { eventPanel } from '../testing/page-parts.js';

test('an opened error and a selected text stay while further events fail', async ({ page, serve }) => {
  const { origin, hub } = await serve({
    register: (shop) => {
      shop.event<number>({
        type: 'order.paid',
        handler({ payload }) {
          throw new FatalError(`card of order ${payload} declined`);
        },
      });
    },
  });
  await hub.emit('order.paid', 1);
  await page.goto(`${origin}/#/events/order.paid?every=1`);
  const errors = eventPanel(page, 'order.paid').getByRole('list', { name: 'Errors' });
  await errors
    .getByText('1 event', { exact: true })
    .or(errors.getByText('Event', { exact: true }))
    .click();
  const ids = errors.locator('.failure-ids > li');
  await expect(ids).toHaveCount(1);
  await errors.locator('.failure-message').selectText();
  const selected = (): Promise<string> => page.evaluate('getSelection().toString()');
  const before = await selected();
  expect(before).toBe('card of order 1 declined');

  await hub.emit('order.paid', 2);
  await expect(errors.locator('.failure-count')).toHaveText('×2');
  await expect(ids).toHaveCount(2);
  await expect(ids.first()).toBeVisible();
  expect(await selected()).toBe(before);
});

test('all problems can be listed, whatever they concern, and stay listed', async ({ page, serve }) => {
  const types = ['a.failed', 'b.failed', 'c.failed', 'd.failed'];
  const fail = (): never => {
    throw new FatalError('out of order');
  };
  const nightly = createWorkflow({ name: 'nightly-export', run: fail });
  const { origin, hub } = await serve({
    register: (shop) => {
      for (const type of types) shop.event({ type, handler: fail });
      shop.workflow(nightly);
    },
  });
  for (const type of types) await hub.emit(type, null);
  const run = await hub.startWorkflow(nightly, null);
  await expect(run.result()).rejects.toThrow('out of order');
  await page.goto(`${origin}/#/?every=1`);
  const attention = page.getByRole('region', { name: 'Needs attention' });
  const more = attention.getByRole('button', { name: /^\+\d more$/ });
  await expect(more).toHaveAttribute('aria-expanded', 'false');
  await more.click();
  for (const subject of [...types, 'nightly-export']) {
    await expect(attention.getByRole('link', { name: subject }).first()).toBeVisible();
  }
  await hub.emit('a.failed', null);
  await expect(attention.getByText('2 of 2 failed').first()).toBeAttached();
  await expect(attention.getByRole('link', { name: 'nightly-export' }).first()).toBeVisible();
  await attention.getByRole('button', { name: 'Show fewer' }).click();
  await expect(attention.getByRole('listitem')).toHaveCount(3);
});
