import { createWorkflow, type Hub, memoryTransport } from 'hubline';
import { createFakeClock } from 'hubline/testing';
import { built } from '../../scripts/page/built-classes.js';
import { expect, test } from '../testing/fixtures.js';
import { sendTimeOf } from '../testing/page-clock.js';

function register(hub: Hub): void {
  hub.event({ type: 'order.paid', onSuccess: 'invoice.sent', handler: () => {} });
  hub.event({ type: 'invoice.sent', handler: () => {} });
  hub.workflow(
    createWorkflow({ name: 'endless', run: ({ step }) => step.run('think', () => new Promise<never>(() => {})) }),
  );
}

/** Names of the properties that the animations of the page change. */
const animated = `[...new Set(document.getAnimations().flatMap((animation) =>
  animation.effect.getKeyframes().flatMap(({ offset, computedOffset, easing, composite, ...rest }) => Object.keys(rest))))]`;

test('a dot moves along the map for a real event only, and none for readers who prefer reduced motion', {
  tag: '@any-width',
}, async ({ page, serve }) => {
  const clock = createFakeClock();
  const dashboard = await serve({ register, hubOptions: { transport: memoryTransport({ clock }) } });
  dashboard.intercept = sendTimeOf(clock);
  const { origin, hub } = dashboard;
  await hub.emit('order.paid', {});
  await page.goto(`${origin}/#/flow?every=off`);
  const paid = page.getByRole('link', { name: /^order\.paid/ });
  await expect(paid).toContainText('/min');
  // Each dot that the page ever adds.
  await page.evaluate(`globalThis.dots = 0; new MutationObserver((changes) => {
    for (const { addedNodes } of changes) globalThis.dots += addedNodes.length;
  }).observe(document.querySelector('${built('.flow-dots')}'), { childList: true })`);
  const dotsAfterPoll = async (): Promise<number> => {
    // The handler serves a body for one second on the hub's clock.
    await clock.advance(1_000);
    const answered = page.waitForResponse(/view=processes/);
    await page.keyboard.press('r');
    await (await answered).finished();
    await page.waitForLoadState('networkidle');
    return page.evaluate<number>('globalThis.dots');
  };
  expect(await dotsAfterPoll()).toBe(0);
  for (let order = 0; order < 3; order += 1) await hub.emit('order.paid', {});
  await expect.poll(dotsAfterPoll).toBe(3);
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await hub.emit('order.paid', {});
  // The rate that the map shows follows the minutes.
  await clock.advance(60_000);
  await expect.poll(async () => (await dotsAfterPoll()) && paid.textContent()).toContain('1/min');
  expect(await dotsAfterPoll()).toBe(3);
});

test('animations change transforms alone, which cost the main thread nothing', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  const { origin, hub } = await serve({ register });
  await hub.startWorkflow('endless', {});
  await page.goto(`${origin}/#/workflows/endless?every=off`);
  await expect(page.getByText('Running', { exact: true }).first()).toBeVisible();
  await expect.poll(() => page.evaluate<string[]>(animated)).toEqual(['transform']);
});
