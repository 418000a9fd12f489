import { createWorkflow, FatalError, type Hub } from 'hubline';
import type { Locator, Page } from 'playwright/test';
import { expectAccessible } from './expect-accessible.js';
import { expect, test } from './fixtures.js';
import { eventPanel } from './page-parts.js';

/** Lets the steps of a run end one by one. */
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

/** A hub whose one workflow waits in each step until the test lets it go on; a payload of `false` fails in the last. */
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

/** An item of the graph, by what it begins with. */
function graphStep(page: Page, name: string): Locator {
  const graph = page.getByRole('list', { name: 'fulfil, from start to end' });
  return graph.getByRole('listitem').filter({ hasText: new RegExp(`^${name}`) });
}

async function expectRun(page: Page, ...steps: readonly (string | RegExp)[]): Promise<void> {
  const run = page.getByRole('list', { name: 'Recent runs' }).getByRole('listitem').first();
  await expect(run.getByRole('list', { name: 'Steps' }).getByRole('listitem')).toHaveText([...steps]);
}

test('steps light up as a run goes through them', async ({ page, serve }) => {
  const { register, pick, ship } = fulfilHub();
  const { origin, hub } = await serve({ register });
  await page.goto(`${origin}/#/workflows?every=1`);
  await expect(graphStep(page, 'pick')).toContainText('Waiting');
  await expect(page.getByText('None yet.')).toBeVisible();

  await hub.emit('order.paid', true);
  await pick.entered;
  await expect(graphStep(page, 'pick')).toContainText('Running');
  await expectRun(page, 'pickRunning', 'shipWaiting');

  pick.open();
  await ship.entered;
  await expect(graphStep(page, 'pick')).toContainText('Completed');
  await expect(graphStep(page, 'ship')).toContainText('Running');
  await expectRun(page, /^pickCompleted .* m?s$/, 'shipRunning');

  ship.open();
  await expect(graphStep(page, 'ship')).toContainText('Completed');
  await expect(graphStep(page, 'On success')).toContainText('1');
  await expectRun(page, /^pickCompleted/, /^shipCompleted/);
});

test('a run that fails says in which step, and why', async ({ page, serve }) => {
  const { register, pick, ship } = fulfilHub();
  const { origin, hub } = await serve({ register });
  pick.open();
  ship.open();
  await hub.emit('order.paid', false);
  await page.goto(`${origin}/#/workflows/fulfil?every=1`);
  await expect(graphStep(page, 'ship')).toContainText('Failed');
  await expectRun(page, /^pickCompleted/, 'shipFailed');
  await expect(page.getByText('FatalError no such address')).toBeVisible();
  await expect(graphStep(page, 'On failure')).toContainText('1');
});

test('leads from a workflow to its events and back', async ({ page, serve }) => {
  const { origin } = await serve({ register: fulfilHub().register });
  await page.goto(origin);
  const views = page.getByRole('navigation', { name: 'Views' });
  await views.getByRole('link', { name: 'Workflows 1' }).click();
  await expect(page).toHaveURL(/#\/workflows$/);
  await page.getByRole('link', { name: 'fulfil' }).click();
  await expect(page).toHaveURL(/#\/workflows\/fulfil$/);
  await page.getByRole('link', { name: 'order.paid' }).click();
  await eventPanel(page, 'order.paid').getByRole('link', { name: 'fulfil' }).click();
  await expect(page.getByRole('article', { name: 'fulfil' })).toBeVisible();
  await page.getByRole('link', { name: 'All workflows' }).click();
  await expect(views.getByRole('link', { name: 'Workflows 1' })).toHaveAttribute('aria-current', 'page');
  await views.getByRole('link', { name: 'Events 3' }).click();
  await expect(page.getByRole('table', { name: /^Event types/ })).toBeVisible();
});

test('a hub without workflows says how to begin', async ({ page, serve }) => {
  const { origin } = await serve();
  await page.goto(origin);
  await page.getByRole('link', { name: 'Workflows 0' }).click();
  await expect(page.getByRole('heading', { name: 'No workflows yet' })).toBeVisible();
  await expectAccessible(page);
});

test('no name breaks the view out of its width', async ({ page, serve }) => {
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
    expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
  }
});

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(`in the ${colorScheme} theme`, () => {
    test.use({ colorScheme });

    test('is accessible while runs go on, fail and complete', async ({ page, serve }) => {
      const { register, pick } = fulfilHub();
      const { origin, hub } = await serve({ register });
      pick.open();
      await hub.emit('order.paid', true);
      await page.goto(`${origin}/#/workflows?every=1`);
      await expect(graphStep(page, 'ship')).toContainText('Running');
      await expectAccessible(page);
      await page.goto(`${origin}/#/workflows/fulfil`);
      await expect(page.getByRole('link', { name: 'All workflows' })).toBeVisible();
      await expectAccessible(page);
    });
  });
}
