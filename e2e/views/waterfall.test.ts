import { createWorkflow } from 'hubline';
import { built } from '../../scripts/page/built-classes.js';
import { REQUEST_ID } from '../../ui/testing/answer-request.js';
import { serveAnswers } from '../testing/answering-dashboard.js';
import { expect, test } from '../testing/fixtures.js';
import { expectNoOverflow } from '../testing/page-parts.js';

test('the waits of a request collapse, and a part of its time fills the axis', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  const { dashboard } = await serveAnswers(serve);
  // A run of the request goes on: its time grows with the clock of the page.
  const opened = Date.now();
  await page.clock.install({ time: opened });
  await page.clock.pauseAt(opened + 1_000);
  await page.goto(`${dashboard.origin}/#/requests/${REQUEST_ID}?every=off`);
  const axis = page.getByRole('columnheader').last();
  // At first, since they are most of the time.
  const cuts = page.getByRole('row', { name: /Attempt 1/ }).locator(built('.trace-cut'));
  await expect(cuts.first()).toBeAttached();
  // Their durations stand below the ticks.
  await expect(axis.locator(built('.trace-tick')).last().locator('span').last()).toHaveText(/^cut \d.* s$/);
  await page.getByRole('button', { name: 'Show waits' }).click();
  await expect(axis).toContainText('20 s40 s1 min');
  await expect(page.locator(built('.trace-cut'))).toHaveCount(0);
  const collapse = page.getByRole('button', { name: 'Collapse waits' });
  await collapse.click();
  await expect(cuts.first()).toBeAttached();
  await page.getByRole('button', { name: 'Show waits' }).click();

  // It appears, and listens from its first frame on.
  await page.clock.runFor(100);
  const overview = page.getByRole('slider', { name: /^Time of the request/ });
  await overview.focus();
  for (const key of ['Home', ...Array<string>(11).fill('Shift+ArrowRight'), 'Enter']) await page.keyboard.press(key);
  const showAll = page.getByRole('button', { name: 'Show all', exact: true });
  await expect(showAll).toBeVisible();
  // 12 of 120 parts.
  await expect(axis).toContainText(/^0.* to 9\.\d s$/);
  await expect(page.getByRole('row', { name: /parcel scanned/ })).toHaveCount(0);
  await showAll.click();
  await expect(axis).toContainText('20 s40 s1 min');
});

test('on a phone, the name of a nested run is whole, and its kind is left out', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  await page.setViewportSize({ width: 320, height: 700 });
  const label = createWorkflow({
    name: 'parcel.label.print',
    run: ({ step }) => step.waitForEvent('printed', 'parcel.printed', { key: 'parcel 7', timeoutMs: 86_400_000 }),
  });
  const { origin, hub } = await serve({
    register: (shop) => {
      shop.event({ type: 'parcel.printed' });
      shop.workflow(label);
      shop.workflow(createWorkflow({ name: 'checkout', run: ({ step }) => step.invoke('book', label, null) }));
    },
  });
  const { runId } = await hub.startWorkflow('checkout', null);
  await expect.poll(async () => (await hub.waits()).suspended).toBe(2);
  await page.goto(`${origin}/#/requests/${runId}?every=off`);
  const name = page.getByRole('row', { name: /parcel\.label\.print/ }).locator(built('.trace-title'));
  const link = name.getByRole('link', { name: 'parcel.label.print' });
  await expect(link).toBeVisible();
  expect(await link.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
  const [row, tag] = await Promise.all([name.boundingBox(), name.locator('.tag').boundingBox()]);
  expect(tag?.y).toBeGreaterThanOrEqual((row?.y ?? 0) + (row?.height ?? 0));
  await expectNoOverflow(page);
});

test('on a phone, waiting and running time are told apart, and the axis has its end', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  await page.setViewportSize({ width: 320, height: 700 });
  const { dashboard } = await serveAnswers(serve);
  const opened = Date.now();
  await page.clock.install({ time: opened });
  await page.clock.pauseAt(opened + 1_000);
  await page.goto(`${dashboard.origin}/#/requests/${REQUEST_ID}?every=off`);
  const shown = page.getByRole('row', { name: /fulfil/ }).locator(built('.trace-ms:visible'));
  await expect(shown).toHaveCount(2);
  for (const [index, label] of ['waited', 'ran'].entries())
    await expect(shown.nth(index)).toHaveAttribute('data-label', label);
  const [waited, ran] = [await shown.first().boundingBox(), await shown.last().boundingBox()];
  expect(ran?.x).toBeGreaterThan((waited?.x ?? 0) + (waited?.width ?? 0));
  await expect(page.getByRole('columnheader', { name: /^0 to 1 min 3\d s, cut 12\.9 s/ })).toBeVisible();
  await expectNoOverflow(page);
});
