import { createWorkflow, FatalError, type Hub } from 'hubline';
import type { Locator, Page } from 'playwright/test';
import { built } from '../../scripts/page/built-classes.js';
import { expectAccessible } from '../testing/expect-accessible.js';
import { expect, test } from '../testing/fixtures.js';
import { eventPanel, expectNoOverflow, openView } from '../testing/page-parts.js';

/** Gate that a step of a run waits for. */
interface Gate {
  readonly entered: Promise<void>;
  open(): void;
}

interface FulfilHub {
  readonly register: (hub: Hub) => void;
  readonly pick: Gate;
  readonly ship: Gate;
}

function createGate(): Gate & { pass(): Promise<void> } {
  let enter = (): void => {};
  let open = (): void => {};
  const entered = new Promise<void>((resolve) => {
    enter = resolve;
  });
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return {
    entered,
    open: () => open(),
    pass: () => {
      enter();
      return opened;
    },
  };
}

/** Returns the setup of a workflow whose steps wait for a gate. A payload of `false` fails in the last step. */
function fulfilHub(): FulfilHub {
  const pick = createGate();
  const ship = createGate();
  const register = (hub: Hub): void => {
    hub.event({ type: 'order.paid' });
    hub.event({ type: 'order.shipped', handler: () => {} });
    hub.event({ type: 'order.stuck', handler: () => {} });
    hub.workflow(
      createWorkflow({
        name: 'fulfil',
        description: 'From the payment to the parcel.',
        trigger: 'order.paid',
        onSuccess: 'order.shipped',
        onFailure: 'order.stuck',
        steps: [
          { name: 'pick', handler: async ({ payload }) => pick.pass().then(() => payload) },
          {
            name: 'ship',
            async handler({ payload }) {
              await ship.pass();
              if (payload === false) throw new FatalError('no such address');
              return null;
            },
          },
        ],
      }),
    );
  };
  return { register, pick, ship };
}

/** Returns the node of the graph whose text starts with `name`. */
function graphStep(page: Page, name: string): Locator {
  const graph = page.getByRole('list', { name: 'fulfil, from start to end' });
  return graph.getByRole('listitem').filter({ hasText: new RegExp(`^${name}`) });
}

async function expectRun(page: Page, ...steps: readonly (string | RegExp)[]): Promise<void> {
  const run = page.getByRole('list', { name: 'Recent runs' }).getByRole('listitem').first();
  await expect(run.getByRole('list', { name: 'Steps' }).getByRole('listitem')).toHaveText([...steps]);
}

test('steps show the progress of a run', async ({ page, serve }) => {
  const { register, pick, ship } = fulfilHub();
  const { origin, hub } = await serve({ register });
  await page.goto(`${origin}/#/workflows/fulfil?every=1`);
  await expect(graphStep(page, 'pick')).toHaveText('pick—');
  await expect(page.getByText('No such run is retained.')).toBeVisible();

  await hub.emit('order.paid', true);
  await pick.entered;
  await expect(graphStep(page, 'pick')).toContainText('Running: 1');
  await expectRun(page, /^pick: running/);

  pick.open();
  await ship.entered;
  await expect(graphStep(page, 'pick')).toHaveText(/^pick[<\d].*s$/);
  await expect(graphStep(page, 'ship')).toContainText('Running');
  await expectRun(page, /^pick: completed, .* m?s/, /^ship: running/);

  ship.open();
  await expect(graphStep(page, 'ship')).toHaveText(/^ship[<\d].*s$/);
  await expectRun(page, /^pick: completed/, /^ship: completed/);
});

test('a failed run shows its step and its error', { tag: '@any-width' }, async ({ page, serve }) => {
  const { register, pick, ship } = fulfilHub();
  const { origin, hub } = await serve({ register });
  pick.open();
  ship.open();
  await hub.emit('order.paid', false);
  await page.goto(`${origin}/#/workflows/fulfil?every=1`);
  await expect(graphStep(page, 'ship')).toContainText('Failure rate: 100%');
  await expectRun(page, /^pick: completed/, /^ship: failed/);
  await expect(page.getByText('FatalError in ship: no such address')).toBeVisible();
});

test('on a phone, a workflow is a few lines without what is zero, and status, duration, age and id of a run share one', {
  tag: '@any-width',
}, async ({ page, serve }) => {
  await page.setViewportSize({ width: 320, height: 700 });
  const { register, pick, ship } = fulfilHub();
  const { origin, hub } = await serve({ register });
  pick.open();
  ship.open();
  await hub.emit('order.paid', true);
  await page.goto(`${origin}/#/workflows?every=1`);
  const trend = page.getByRole('row', { name: /^fulfil/ }).locator(built('.trend > .trend-received'));
  await expect(trend).toHaveAttribute('d', /^M\d/);
  const row = page.getByRole('row', { name: /^fulfil/ });
  await expect.poll(async () => (await row.boundingBox())?.height).toBeLessThan(150);
  await expect(row.locator('[data-label="Started, 5 min"]')).toBeVisible();
  await expect(row.locator('[data-label="Waiting, now"]')).toBeHidden();
  await page.getByRole('link', { name: 'fulfil' }).click();
  const run = page.getByRole('list', { name: 'Recent runs' }).getByRole('listitem').first();
  await expect(run.getByText('Completed', { exact: true })).toBeVisible();
  const middles = await Promise.all(
    ['.state', '.run-total', 'time', '.short-id'].map(async (part) => {
      const { y, height } = (await run.locator(built(part)).first().boundingBox()) ?? { y: 0, height: 0 };
      return y + height / 2;
    }),
  );
  for (const middle of middles) expect(Math.abs(middle - (middles[0] ?? 0))).toBeLessThan(12);
  await run.locator(built('.short-id')).click();
  await expect(page).toHaveURL(/#\/requests\//);
  await expectNoOverflow(page);
});

test('the bar of a run shows steps where they ran, those at the same time below each other', {
  tag: '@any-width',
}, async ({ page, serve }) => {
  const [pack, print] = [createGate(), createGate()];
  const { origin, hub } = await serve({
    register: (shop) => {
      shop.event({ type: 'parcel.scanned' });
      shop.workflow(
        createWorkflow({
          name: 'fulfil',
          run: async ({ step }) => {
            await Promise.all([step.run('pack', () => pack.pass()), step.run('print', () => print.pass())]);
            await step.waitForEvent('scanned', 'parcel.scanned', { key: 'parcel', timeoutMs: 86_400_000 });
          },
        }),
      );
    },
  });
  await hub.startWorkflow('fulfil', {});
  await Promise.all([pack.entered, print.entered]);
  await page.goto(`${origin}/#/workflows/fulfil?every=1`);
  print.open();
  await expectRun(page, /^print: completed/, /^running: running/);
  pack.open();
  await expectRun(page, /^print: completed/, /^pack: completed/, /^scanned: suspended/);
  const boxOf = async (step: string): Promise<{ x: number; y: number; width: number; height: number }> => {
    const segment = page.getByRole('list', { name: 'Steps' }).getByRole('listitem').filter({ hasText: step });
    return (await segment.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  };
  const [long, short, wait] = [await boxOf('pack'), await boxOf('print'), await boxOf('scanned')];
  expect(short.x).toBeLessThan(long.x + long.width);
  expect(short.y).toBeGreaterThanOrEqual(long.y + long.height);
  expect(wait.x).toBeGreaterThan(long.x);
  expect(wait.y).toBe(long.y);
});

test('a workflow links to its events and back', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin } = await serve({ register: fulfilHub().register });
  await page.goto(origin);
  await openView(page, 'Workflows');
  await expect(page).toHaveURL(/#\/workflows$/);
  await page.getByRole('link', { name: 'fulfil' }).click();
  await expect(page).toHaveURL(/#\/workflows\/fulfil$/);
  await page.getByRole('link', { name: 'order.paid' }).click();
  await eventPanel(page, 'order.paid').getByRole('link', { name: 'fulfil' }).click();
  await expect(page.getByRole('article', { name: 'fulfil' })).toBeVisible();
  await page.getByRole('link', { name: 'All workflows' }).click();
  await expect(page).toHaveURL(/#\/workflows$/);
  await openView(page, 'Events');
  await expect(page.getByRole('table', { name: /^Event types/ })).toBeVisible();
});

test('a hub without workflows shows the next step', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin } = await serve();
  await page.goto(origin);
  await openView(page, 'Workflows');
  await expect(page.getByRole('heading', { name: 'No workflows yet' })).toBeVisible();
  await expectAccessible(page);
});

test('long and hostile names do not overflow the view', async ({ page, serve }) => {
  const names = ['<img src=x onerror=alert(1)>', 'a/b?c#d', '__proto__', 'x'.repeat(300)];
  const { origin } = await serve({
    register: (hub) => {
      for (const name of names) {
        hub.event({ type: name });
        hub.workflow(
          createWorkflow({ name, trigger: name, steps: names.map((step) => ({ name: step, handler() {} })) }),
        );
      }
    },
  });
  for (const name of names) {
    await page.goto(`${origin}/#/workflows/${encodeURIComponent(name)}`);
    await expect(page.getByRole('heading', { level: 3, name, exact: true })).toBeVisible();
    await expectNoOverflow(page);
  }
});

test('is accessible with active and completed runs', async ({ page, serve }) => {
  const { register, pick } = fulfilHub();
  const { origin, hub } = await serve({ register });
  pick.open();
  await hub.emit('order.paid', true);
  await page.goto(`${origin}/#/workflows/fulfil?every=1`);
  await expect(graphStep(page, 'ship')).toContainText('Running');
  await expectAccessible(page);
  await page.getByRole('link', { name: 'All workflows' }).click();
  await expect(page.getByRole('row', { name: /^fulfil/ }).locator('[data-label="Running, now"]')).toHaveText('1');
  await expectAccessible(page);
  await expectNoOverflow(page);
});
