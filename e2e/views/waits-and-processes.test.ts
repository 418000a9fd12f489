import {
  type ApprovalDecided,
  type ApprovalRequest,
  createAgent,
  createEvent,
  createTool,
  createWorkflow,
  type Hub,
} from 'hubline';
import { scriptedProvider } from 'hubline/testing';
import type { Locator, Page } from 'playwright/test';
import { built } from '../../scripts/page/built-classes.js';
import { expectAccessible } from '../testing/expect-accessible.js';
import { expect, test } from '../testing/fixtures.js';
import { expectNoOverflow } from '../testing/page-parts.js';

const requested = createEvent<ApprovalRequest>({ type: 'approval.requested' });
const decided = createEvent<ApprovalDecided>({ type: 'approval.decided', key: ({ approvalId }) => approvalId });
const parameters = { type: 'object' };
const usage = { promptTokens: 1_640, completionTokens: 212, totalTokens: 1_852, cachedTokens: 40 };

/** Registers an agent that looks an order up, fails to mail and asks for an approval, and a workflow that waits. */
function registerSupport(hub: Hub): void {
  const agent = createAgent({
    name: 'support',
    systemPrompt: 'Help.',
    model: { model: 'small-1' },
    prices: { 'small-1': { input: 1, output: 2 } },
    provider: scriptedProvider([
      { toolCalls: [{ name: 'find_order', arguments: {} }], usage },
      { toolCalls: [{ name: 'mail', arguments: {} }], usage },
      { toolCalls: [{ name: 'refund', arguments: { cents: 9_900 } }], usage },
      { content: 'done', usage },
    ]),
    tools: [
      createTool({ name: 'find_order', description: '', parameters, execute: async () => 'found' }),
      createTool({
        name: 'mail',
        description: '',
        parameters,
        execute: async () => {
          throw new Error('no address');
        },
      }),
      createTool({ name: 'refund', description: '', parameters, execute: async () => 'paid', needsApproval: true }),
    ],
  });
  hub.event(requested, { handler: () => {} });
  hub.event(decided);
  hub.event({
    type: 'ticket.opened',
    handler: agent.asHandler({ approvals: { requested, decided, timeoutMs: 7_200_000 } }),
  });
  hub.event({ type: 'parcel.scanned' });
  hub.workflow(
    createWorkflow({
      name: 'ship',
      run: async ({ step }) => {
        await step.run('pick', () => null);
        await step.waitForEvent('scanned', 'parcel.scanned', { key: 'parcel 7', timeoutMs: 86_400_000 });
      },
    }),
  );
}

/** Returns the rows of waits that are no approvals, without those of their groups. */
function waitsOf(page: Page): Locator {
  return page
    .getByRole('table', { name: 'Other waits' })
    .getByRole('row')
    .filter({ has: page.locator('[data-label="Since"]') });
}

test('waits show run, tool, start, time limit and the code that approves', async ({ page, serve, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const { origin, hub } = await serve({ register: registerSupport });
  await page.goto(`${origin}/#/waits?every=1`);
  await expect(page.getByRole('heading', { name: 'Nothing waits' })).toBeVisible();
  await expectAccessible(page);
  const { id } = await hub.emit('ticket.opened', 'private question');
  await hub.startWorkflow('ship', {});
  await expect.poll(async () => (await hub.waits()).suspended).toBe(2);

  const approval = page.getByRole('row', { name: /ticket\.opened/ });
  await expect(page.getByRole('row', { name: 'refund 1' })).toBeVisible();
  await expect(approval.locator('[data-label="Until"]')).toContainText('in 2 h');
  // Either run may be the first that waits.
  const wait = (await hub.waits()).waits.find(({ type }) => type === 'ticket.opened');
  const approvalId = wait?.step.waitsFor?.event?.key ?? '';
  await approval.getByRole('button', { name: 'Copy code' }).click();
  await expect
    .poll(() => page.evaluate<string>('navigator.clipboard.readText()'))
    .toMatch(new RegExp(`id === '${wait?.id}' && step\\.name === '.* / refund'.*'approval\\.decided'`, 's'));
  await expect(page.locator('main')).not.toContainText(approvalId);
  await expect(approval).toContainText('agent support');
  await expect(page.getByRole('row', { name: 'ship scanned 1' })).toContainText('shop · event parcel.scanned');
  const parcel = waitsOf(page);
  await expect(parcel.locator('[data-label="Until"]')).toContainText('in 1 d');
  await expectAccessible(page);
  await expectNoOverflow(page);
  await expect(page.locator('main')).not.toContainText('private');

  await approval.getByRole('link', { name: id.slice(0, 8) }).click();
  await expect(page.getByRole('heading', { name: /^ticket\.opened in request [\da-f]{8}-/ })).toBeVisible();
  await expect(page.getByRole('row', { name: /turn 3/ })).toContainText('1,640 in 212 out · cost 0.0021');
  await page.goBack();
  await hub.emit(decided, { approvalId, approved: true });
  await expect(page.getByRole('heading', { name: 'Approvals' })).toBeHidden();
});

test('of many waits the oldest of each step are shown, and all on demand', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  const { origin, hub } = await serve({ register: registerSupport });
  await Promise.all(Array.from({ length: 30 }, () => hub.startWorkflow('ship', {})));
  await expect.poll(async () => (await hub.waits()).suspended).toBe(30);
  await page.goto(`${origin}/#/waits?every=off`);
  const waits = waitsOf(page);
  await expect(page.getByRole('row', { name: 'ship scanned 30' })).toBeVisible();
  await expect(waits).toHaveCount(3);
  await expect.poll(() => page.evaluate<number>('document.documentElement.scrollHeight')).toBeLessThan(1_000);
  await page.getByRole('button', { name: 'Show all 30 listed runs' }).click();
  await expect(waits).toHaveCount(30);
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Show the first 3', expanded: true }).click();
  await expect(waits).toHaveCount(3);
});

test('a wait is one line with aligned columns, and on a phone two lines', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  await page.setViewportSize({ width: 1_280, height: 800 });
  const { origin, hub } = await serve({ register: registerSupport });
  await hub.emit('ticket.opened', 'question');
  await hub.startWorkflow('ship', {});
  await expect.poll(async () => (await hub.waits()).suspended).toBe(2);
  await page.goto(`${origin}/#/waits?every=off`);
  const approval = page.getByRole('row', { name: /ticket\.opened/ });
  const parcel = waitsOf(page);
  const leftOf = async (row: Locator, label: string): Promise<number | undefined> =>
    (await row.locator(`[data-label="${label}"]`).boundingBox())?.x;
  for (const label of ['Since', 'Until']) expect(await leftOf(approval, label)).toBe(await leftOf(parcel, label));
  expect((await parcel.boundingBox())?.height).toBeLessThan(44);
  await page.setViewportSize({ width: 320, height: 700 });
  await expect.poll(async () => (await parcel.boundingBox())?.height).toBeLessThan(76);
  await expectNoOverflow(page);
});

test('an agent shows its recent runs, and each run its turns and tool calls', async ({ page, serve }) => {
  const { origin, hub } = await serve({ register: registerSupport });
  await hub.emit('ticket.opened', 'private question');
  await expect.poll(async () => (await hub.waits()).approvals).toBe(1);
  await page.goto(`${origin}/#/agents/support?every=1`);
  const runs = page.getByRole('table', { name: /^Recent runs of support/ });
  const run = runs.getByRole('row', { name: /ticket\.opened/ });
  await expect(run.locator('[data-label="Status"]')).toHaveText('Suspended');
  await expect(run.locator('[data-label="Turns"]')).toHaveText('3');
  await expect(run.locator('[data-label="Tool calls"]')).toHaveText('2');
  await expect(run.locator('[data-label="Tokens"]')).toHaveText('5,556');
  await expect(run.locator('[data-label="Cost"]')).toHaveText('0.0062');
  // One line; on a phone two, of which the second is the figures.
  await expect.poll(async () => (await run.boundingBox())?.height).toBeLessThan(76);
  const agent = page.getByRole('table', { name: /^Agents/ }).getByRole('row', { name: /support/ });
  await expect(agent.locator('[data-label="Cost"]')).toHaveText('0.0062');

  await expectAccessible(page);
  await expectNoOverflow(page);
  await run.getByRole('link', { name: /^[\da-f]{8}$/ }).click();
  const names = page.locator(built('.trace-name'));
  const folded = [
    /turn 1(<1|\d+) ms find_order1,640 in\s+212 out · cost\s0\.0021/,
    /turn 2\s*[\d,]+ in/,
    /mailtool.*the model received an error/,
    /turn 3\s*[\d,]+ in/,
    /refundapproval/,
    /approval\.requested/,
  ];
  await expect(names).toHaveText([/ticket\.opened/, ...folded]);
  await expectAccessible(page);
  await expect(page.locator('main')).not.toContainText('private');
  await page.getByRole('button', { name: 'turn 1', expanded: false }).click();
  await expect(names).toHaveText([/ticket\.opened/, /turn 1[\d,]+ in/, /find_ordertool/, ...folded.slice(1)]);
  await page.getByRole('button', { name: 'turn 1', expanded: true }).click();
  await expect(names).toHaveCount(7);
});

test('processes show who runs, since when, how busy, and what each handles', async ({ page, serve }) => {
  let release = (): void => {};
  const { origin, hub } = await serve({
    register: (shop) => {
      registerSupport(shop);
      const handler = (): Promise<void> => new Promise((resolve) => (release = resolve));
      shop.event({ type: 'slow', handler });
    },
  });
  const { kv, clock } = hub.transport;
  const lost = { id: 'gone-1', service: 'shop', host: 'worker-7', pid: 4_711, startedAt: 0, active: 3, release: 'v2' };
  // As an earlier process of the store left it.
  const left = JSON.stringify({ processes: [{ ...lost, seenAt: clock.now() - 14 * 60_000 }] });
  await kv.set('hubline:processes', left);
  await hub.emit('slow', {});
  await page.goto(origin);
  const problem = page.getByRole('region', { name: 'Needs attention' }).getByRole('listitem');
  await expect(problem).toContainText(/3 running events released.*14 min ago/);
  await problem.getByRole('link', { name: 'shop' }).click();
  const table = page.getByRole('table', { name: 'Running processes' });
  const row = table.getByRole('row', { name: /pid/ });
  await expect(row).toHaveCount(1);
  await expect(page.getByRole('heading', { name: 'Running processes 1 hub in 1 process' })).toBeVisible();
  await expect(row.getByRole('rowheader').first()).toContainText(`pid ${process.pid} · Hubline 0.`);
  await expect(row.getByRole('rowheader').last()).toContainText(/^shophub /);
  await expect(row.locator('[data-label="Slots taken"]')).toContainText('1 of 100');
  const gone = page.getByRole('table', { name: /^Lost processes/ }).getByRole('row', {
    name: /worker-7/,
  });
  await expect(gone.locator('[data-label="Lost"]')).toHaveText('14 min ago3 running events released');
  await expect(gone.locator('[data-label="Release"]')).toHaveText('v2');
  const durations = page.getByRole('region', { name: 'Durations, p95' });
  await durations.getByRole('button', { name: '1 h' }).click();
  await expect(durations.getByText('worker-7 lost')).toHaveCount(1);
  const chart = durations.getByRole('slider');
  // The chart of the last range stays until that of the hour has come, and a minute may begin meanwhile.
  await expect(async () => {
    await chart.press('End');
    const hasPassed = (await chart.getAttribute('aria-valuetext'))?.includes(' 0 received') === true;
    if (hasPassed) await chart.press('ArrowLeft');
    await expect(chart).toHaveAttribute('aria-valuetext', /1 received.*waiting p95/, { timeout: 1_000 });
  }).toPass();
  await durations.getByText('View data').click();
  const table1h = durations.getByRole('table', { name: 'Events, last 1 h' });
  await expect(table1h.getByRole('columnheader')).toHaveText(['Time', 'Waiting p95', 'Running p95', 'Failed']);
  const minute = table1h.getByRole('row').filter({ hasText: / ms/ });
  await expect(minute.getByRole('cell').first()).toHaveText(/ms$/);
  await row.getByText('3 event types, 1 workflow').click();
  await expectAccessible(page);
  await expectNoOverflow(page);
  release();
  await row.getByRole('link', { name: 'ship' }).click();
  await expect(page.getByRole('article', { name: 'ship' })).toBeVisible();
});

test('a type whose only slot is taken is not idle: in its row, its panel and among the processes', {
  tag: '@any-width',
}, async ({ page, serve }) => {
  const { origin, hub } = await serve({
    register: (shop) => {
      shop.event({ type: 'report.due', concurrency: 1, handler: () => new Promise(() => {}) });
      shop.event({ type: 'order.paid', concurrency: 4, handler: () => {} });
    },
    hubOptions: { release: '1.5.0' },
  });
  for (let report = 0; report < 3; report += 1) await hub.emit('report.due', {});
  await page.goto(`${origin}/#/events/report.due?every=1`);
  await expect(page.getByRole('row', { name: /report\.due/ })).toContainText('1/1 busy');
  const panel = page.getByRole('complementary', { name: 'report.due' });
  await expect(panel).toContainText('Its only slot is taken');
  await page.goto(`${origin}/#/processes?every=1`);
  const slots = page.getByRole('table', { name: 'Slots of event types' }).locator('tbody > tr');
  await expect(slots).toHaveCount(2);
  await expect(slots.first()).toContainText(/^report\.due full1 of 1/);
  // Pending events are those that have not ended.
  await expect(slots.first().locator('[data-label="Pending"]')).toHaveText('3');
  await expect(slots.last()).toContainText(/^order\.paid 0 of 4/);
  const row = page.getByRole('row', { name: /pid/ });
  await expect(row.locator('[data-label="Release"]')).toHaveText('1.5.0');
  // On a phone, a release is two lines of two values.
  await page.setViewportSize({ width: 320, height: 700 });
  const release = page.getByRole('table', { name: /^Releases/ }).getByRole('row', { name: /1\.5\.0/ });
  await expect.poll(async () => (await release.boundingBox())?.height).toBeLessThan(110);
  await expectNoOverflow(page);
});

test('new views: headings, tables with captions, and a text for each state', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  await page.setViewportSize({ width: 1_280, height: 800 });
  const { origin, hub } = await serve({ register: registerSupport, hubOptions: { release: 'v1' } });
  const { id } = await hub.emit('ticket.opened', 'question');
  await hub.startWorkflow('ship', {});
  await expect.poll(async () => (await hub.waits()).suspended).toBe(2);
  const short = id.slice(0, 8);
  await page.goto(`${origin}/#/waits?every=off`);
  await expect(page.locator('main')).toMatchAriaSnapshot(`
    - region "Waits":
      - heading "Waits" [level=2]
      - heading "Approvals 1" [level=3]
      - table "Approvals":
        - rowgroup:
          - row "Run Since Until Decision"
        - rowgroup:
          - row:
            - rowheader /agent support/:
              - link "ticket.opened"
              - link "${short}"
              - button "Copy the event id ${short}"
              - text: /turn \\d+ \\/ refund · agent/
              - link "support"
            - cell /now|ago/
            - cell /in 2 h/
            - cell "Copy code":
              - button "Copy code"
      - heading "Other waits 1" [level=3]
      - table "Other waits":
        - rowgroup:
          - row "Run Since Until"
        - rowgroup:
          - row:
            - rowheader "ship scanned 1 · shop · event parcel.scanned":
              - link "ship"
          - row:
            - rowheader /Copy the run id/
  `);
  await page.goto(`${origin}/#/agents/support?every=off`);
  await expect(page.getByRole('region', { name: /^Recent runs of support/ })).toMatchAriaSnapshot(`
    - heading "Recent runs of support the latest 20" [level=3]
    - table "Recent runs of support, newest first":
      - rowgroup:
        - row "Run Status Turns Tool calls Tokens Cost Took Started"
      - rowgroup:
        - row:
          - rowheader
          - cell "Suspended"
          - cell "3"
          - cell "2"
          - cell "5,556"
          - cell "0.0062"
          - cell /^so far/
  `);
  // A process measures it from its first report on.
  await expect.poll(async () => (await hub.processes())[0]?.loopBusy).toBeDefined();
  await page.goto(`${origin}/#/processes?every=off`);
  await expect(page.locator('main')).toMatchAriaSnapshot(`
    - region "Processes":
      - heading "Processes" [level=2]
      - table "Running processes":
        - rowgroup:
          - row "Process Heap Loop busy Service Release Slots taken Started Handles"
        - rowgroup:
          - row:
            - rowheader /pid .* Hubline/
            - cell /MiB/
            - cell /%/
            - rowheader /shop hub/
            - cell "v1"
            - cell "0 of 100"
      - heading "Releases 7 d" [level=3]
      - table "Releases":
        - rowgroup:
          - row "Release Service Started Ended"
        - rowgroup:
          - row /v1 shop .* runs/
  `);
});
