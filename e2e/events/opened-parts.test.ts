import { createWorkflow, FatalError } from 'hubline';
import { expect, test } from '../testing/fixtures.js';
import { eventPanel } from '../testing/page-parts.js';

test('an opened error and a selected text stay while further events fail', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
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
  await errors.getByText('Newest failures').click();
  const ids = errors.getByRole('list', { name: 'Newest failures' }).getByRole('listitem');
  await expect(ids).toHaveCount(1);
  await errors.getByText('card of order # declined').selectText();
  const selected = (): Promise<string> => page.evaluate('getSelection().toString()');
  const before = await selected();
  expect(before).toBe('card of order # declined');

  await hub.emit('order.paid', 2);
  await expect(errors.getByText('×2')).toBeVisible();
  await expect(ids).toHaveCount(2);
  await expect(ids.first()).toBeVisible();
  expect(await selected()).toBe(before);
});

test('all problems can be listed, whatever they concern, and stay listed', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
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
  await expect(attention.getByText(/^(2 of 2|100%) failed/).first()).toBeVisible();
  await expect(attention.getByRole('link', { name: 'nightly-export' }).first()).toBeVisible();
  await attention.getByRole('button', { name: 'Show fewer' }).click();
  await expect(attention.getByRole('listitem')).toHaveCount(4);
});

/** State of the document that belongs to the reader. */
const readState = `(() => {
  const names = (selector) => [...document.querySelectorAll(selector)].map((each) => each.textContent.slice(0, 20));
  return {
    opened: names('main details[open] > summary').length,
    expanded: names('main [aria-expanded="true"]').length,
    selected: getSelection().toString(),
    hovered: document.querySelector('main tbody th:hover')?.textContent ?? null,
    // A row that is added above, as each minute in the data of a chart, changes scrollY and moves nothing.
    top: Math.round(getSelection().getRangeAt(0).getBoundingClientRect().top),
  };
})()`;

test('nothing that was opened, selected, hovered or scrolled to changes by a poll, in any view', {
  tag: '@any-width',
}, async ({ page, serve }) => {
  const names = ['order', 'card', 'parcel', 'mail', 'stock', 'cart', 'refund', 'audit'];
  const { origin, hub } = await serve({
    register: (shop) => {
      for (const name of names) {
        shop.event<number>({
          type: `${name}.sent`,
          onSuccess: 'all.counted',
          handler({ payload }) {
            if (payload % 3 === 0) throw new FatalError(`${name} ${payload} is lost`);
          },
        });
        shop.workflow(
          createWorkflow({
            name,
            run: async ({ step }) => {
              await step.run('begin', () => null);
              await step.waitForEvent('end', 'all.counted', { key: 'none' });
            },
          }),
        );
        shop.schedule({ name: `${name} report`, cron: '0 3 * * *', emit: `${name}.sent`, payload: 1 });
      }
      shop.event({ type: 'all.counted', handler: () => {} });
    },
  });
  let sent = 0;
  const happen = async (): Promise<void> => {
    for (const name of names) {
      for (let n = 0; n < 4; n += 1) {
        sent += 1;
        await hub.emit(`${name}.sent`, sent);
      }
      await hub.startWorkflow(name, null);
    }
  };
  await happen();
  await page.setViewportSize({ width: 1_280, height: 420 });
  const views = [
    '',
    'errors',
    'flow',
    'workflows',
    'workflows/order',
    'waits',
    'schedules',
    'processes',
    'events/order.sent',
  ];
  for (const view of views) {
    await page.goto(`${origin}/#/${view}?every=off`);
    await page.locator('main h2').first().waitFor();
    await page.waitForLoadState('networkidle');
    await page.evaluate(
      `for (const each of document.querySelectorAll('main details:not([open]) > summary')) each.click()`,
    );
    await page.evaluate(`scrollTo(0, 150)`);
    const name = page.locator('main tbody th, main h2').last();
    await name.scrollIntoViewIfNeeded();
    await name.selectText();
    await name.hover();
    const before = await page.evaluate(readState);
    await happen();
    const answered = page.waitForResponse(/events=columns/);
    await page.keyboard.press('r');
    await (await answered).finished();
    await page.waitForLoadState('networkidle');
    expect(await page.evaluate(readState), `#/${view}`).toEqual(before);
  }
});
