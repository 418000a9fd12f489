import { createWorkflow, FatalError, type Hub } from 'hubline';
import type { Locator, Page } from 'playwright/test';
import { expectAccessible } from '../testing/expect-accessible.js';
import { expect, test } from '../testing/fixtures.js';
import { expectNoOverflow } from '../testing/page-parts.js';

interface Order {
  readonly id: number;
  readonly isBroken: boolean;
}

/** Workflow with a function: a map, parallel steps, a branch, a child run and a wait. */
function register(hub: Hub): void {
  const paid = hub.event({ type: 'order.paid', key: ({ id }: Order) => String(id) });
  const pack = createWorkflow({ name: 'pack', run: ({ step }) => step.sleep('dry', 20) });
  hub.workflow(pack);
  hub.workflow(
    createWorkflow({
      name: 'fulfil',
      run: async ({ input, step }) => {
        const { id, isBroken } = input as Order;
        await step.map('pick', [1, 2, 3], async () => 'picked');
        await Promise.all([step.sleep('label', 30), step.invoke('pack', pack, {})]);
        if (id % 2 === 0) await step.run('pallet', async () => 'stacked');
        else await step.run('parcel', async () => 'closed');
        await step.run('ship', async () => {
          if (isBroken) throw new FatalError('no carrier');
        });
        await step.waitForEvent('paid', paid, { key: String(id) });
      },
    }),
  );
}

/** Starts 60 runs that wait and then 4 that fail. Resolves when all have come to their end. */
async function startRuns(hub: Hub): Promise<void> {
  for (let id = 0; id < 64; id++) await hub.startWorkflow('fulfil', { id, isBroken: id >= 60 });
  await expect.poll(async () => (await hub.workflowRuns('fulfil')).read).toMatchObject({ failed: 4, waiting: 60 });
  await expect.poll(async () => stepsOf(hub)).toEqual(['paid']);
}

/** Returns the steps in which runs wait. */
async function stepsOf(hub: Hub): Promise<readonly string[]> {
  const { steps } = await hub.workflowRuns('fulfil');
  return steps.filter(({ waiting }) => waiting > 0).map(({ name }) => name);
}

function graphStep(page: Page, name: string): Locator {
  const graph = page.getByRole('list', { name: 'fulfil, from start to end' });
  return graph.getByRole('listitem').filter({ hasText: new RegExp(`^${name}`) });
}

function runs(page: Page): Locator {
  return page.getByRole('list', { name: 'Recent runs' }).locator(':scope > .run');
}

test('the graph of a function shows what its runs did, and selects those of a step', async ({ page, serve }) => {
  const { origin, hub } = await serve({ register, hubOptions: { release: 'v1' } });
  await startRuns(hub);
  await page.goto(`${origin}/#/workflows/fulfil?every=1`);

  await expect(graphStep(page, 'pick')).toContainText('×3');
  await expect(graphStep(page, 'paid')).toContainText('Suspended: 60');
  await expect(graphStep(page, 'ship')).toContainText('Failed here: 4');
  // In one stage, so above each other, at any width.
  const lefts = await Promise.all(
    ['label', 'pack'].map(async (name) => (await graphStep(page, name).boundingBox())?.x ?? -1),
  );
  expect(lefts[0]).toBe(lefts[1]);

  await graphStep(page, 'ship').getByRole('button').click();
  await expect(runs(page)).toHaveCount(1);
  await expect(runs(page)).toContainText('no carrier');
  await showAlike(page);
  await expect(runs(page)).toHaveCount(4);
  await graphStep(page, 'paid').getByRole('button').click();
  await expect(runs(page)).toHaveCount(20);
  await page.getByRole('button', { name: 'Show all 60 runs' }).click();
  await expect(runs(page)).toHaveCount(60);
  // A poll changes nothing that the reader selected.
  await hub.emit('order.paid', { id: 59, isBroken: false });
  await expect(graphStep(page, 'paid')).toContainText('Suspended: 59');
  await expect(runs(page)).toHaveCount(59);

  await page.getByRole('button', { name: /^Only in paid/ }).click();
  await page.getByRole('button', { name: 'Failed', exact: true }).click();
  await expect(runs(page)).toHaveCount(4);
  await page.getByRole('button', { name: 'Completed', exact: true }).click();
  await expect(runs(page)).toHaveCount(1);
  await expectNoOverflow(page);
  await expectAccessible(page);

  // All 64 are retained, in two pages; the ledger is that of the start.
  await page.getByRole('button', { name: 'All retained runs' }).click();
  await expect(page.getByText(/^1 run, all of them/)).toBeVisible();
  await page.getByRole('button', { name: 'All', exact: true }).click();
  await expect(page.getByText(/^50 runs so far/)).toBeVisible();
  await page.getByRole('button', { name: 'Show older runs' }).click();
  await expect(page.getByText(/^64 runs, all of them, as of/)).toBeVisible();
  // The header covers the targets below it.
  await page.evaluate('scrollTo(0, 0)');
  await expectNoOverflow(page);
  await expectAccessible(page);
  await page.getByRole('combobox', { name: 'Which runs' }).selectOption({ label: await releaseLabel(page) });
  await page.getByRole('button', { name: 'Failed', exact: true }).click();
  await expect(page.getByText(/^4 runs, all of them/)).toBeVisible();
  await page.getByRole('combobox', { name: 'Which runs' }).selectOption('Recent runs, live');
  await showAlike(page);
  await expect(runs(page)).toHaveCount(4);
});

/** Shows the runs that failed like the one above them. */
async function showAlike(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^3 more alike in/, expanded: false }).click();
}

/** Returns the option of the release with which all runs were accepted. */
async function releaseLabel(page: Page): Promise<string> {
  const options = page.getByRole('combobox', { name: 'Which runs' }).getByRole('option');
  return (await options.filter({ hasText: /^Release v1, from / }).textContent()) ?? '';
}
