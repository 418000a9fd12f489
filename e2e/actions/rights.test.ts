import { once } from 'node:events';
import {
  type ApprovalDecided,
  type ApprovalRequest,
  createAgent,
  createEvent,
  createTool,
  createWorkflow,
  FatalError,
  type Hub,
} from 'hubline';
import { scriptedProvider } from 'hubline/testing';
import { built } from '../../scripts/page/built-classes.js';
import { expectAccessible } from '../testing/expect-accessible.js';
import { expect, test } from '../testing/fixtures.js';
import { eventPanel, eventRow, expectNoOverflow } from '../testing/page-parts.js';
import { registerShop } from '../testing/register-shop.js';
import { confirm, signIn, withActions } from './operations.js';

test('who may only look sees no control, and the server refuses the action', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  const dashboard = await serve(withActions(registerShop));
  const { id } = await dashboard.hub.emit('payment.requested', { card: '4242' });
  await expect.poll(async () => (await dashboard.hub.metrics('payment.requested')).deadLetters).toBe(1);
  await signIn(page, dashboard, 'bob');
  const rights = page.waitForResponse((response) => response.url().endsWith('/ops/hub-actions/'));
  await page.goto(`${dashboard.origin}/#/requests/${id}`);
  expect(await (await rights).json()).toEqual({ user: 'bob', can: [] });
  await expect(page.getByText('card declined').first()).toBeVisible();
  for (const name of ['Replay', 'Show payload', 'Erase request', 'Cancel']) {
    await expect(page.getByRole('button', { name, exact: true })).toHaveCount(0);
  }
  const status = await page.context().request.post(`${dashboard.origin}/ops/hub-actions/replay`, {
    headers: { origin: dashboard.origin },
    data: { id },
  });
  expect(status.status()).toBe(403);
  await page.goto(`${dashboard.origin}/#/audit`);
  await expect(page.getByText('No access')).toBeVisible();
  expect(await dashboard.hub.metrics('payment.requested')).toMatchObject({ received: 1, deadLetters: 1 });
});

test('who may act looks at the payload, replays, pauses and resumes, and stands in the audit', async ({
  page,
  serve,
}) => {
  let isFixed = false;
  const dashboard = await serve(
    withActions((hub) => {
      hub.event({
        type: 'payment.requested',
        handler() {
          if (!isFixed) throw new Error('card declined');
        },
      });
    }),
  );
  const { hub, origin } = dashboard;
  const { id } = await hub.emit('payment.requested', { card: '4242', note: '<b>bold</b>' });
  await expect.poll(async () => (await hub.metrics('payment.requested')).deadLetters).toBe(1);
  await signIn(page, dashboard, 'ada');
  await page.goto(`${origin}/#/requests/${id}`);
  await expect(page.getByText('4242')).toHaveCount(0);
  await page.getByRole('button', { name: 'Show payload' }).click();
  await expect(page.locator('pre', { hasText: '"note": "<b>bold</b>"' })).toBeVisible();
  await expectNoOverflow(page);
  await expectAccessible(page);
  isFixed = true;
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  await expect(page.getByRole('dialog')).toContainText('The event is handled again in shop');
  await expectAccessible(page);
  await expectNoOverflow(page);
  await confirm(page, 'Replay', 'Replayed.', 'bank is back');
  await expect.poll(async () => (await hub.metrics('payment.requested')).completed).toBe(1);
  await page.goto(`${origin}/#/events/payment.requested`);
  const panel = eventPanel(page, 'payment.requested');
  await panel.getByRole('button', { name: 'Pause', exact: true }).click();
  const pause = page.getByRole('dialog').getByRole('button', { name: 'Pause' });
  await pause.click();
  // The browser asks for the reason.
  await expect(page.getByRole('dialog').getByRole('textbox')).toBeFocused();
  await confirm(page, 'Pause', /^Paused/, 'bank is down');
  expect(await hub.pauses()).toMatchObject([{ by: 'ada', reason: 'bank is down' }]);
  await panel.getByRole('button', { name: 'Resume', exact: true }).click();
  await confirm(page, 'Resume', 'Resumed.');
  await page.goto(`${origin}/#/audit`);
  // A narrow page hides the header row.
  const rows = page.getByRole('table').locator('tbody > tr');
  await expect(rows).toHaveCount(4);
  await expect(rows.nth(3)).toContainText('payload');
  await expect(rows.nth(2)).toContainText('bank is back');
  await expect(rows.nth(0)).toContainText('resume');
  await expect(rows.locator('[data-label="Outcome"]')).toHaveText(['done', 'done', 'done', '—']);
  await expect(rows.nth(0)).toContainText('event type payment.requested');
  await expectNoOverflow(page);
  await expectAccessible(page);
});

test('what holds the only slot of a stuck type is cancelled in its panel', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  let calls = 0;
  const dashboard = await serve(
    withActions((hub) => {
      hub.event({
        type: 'report.due',
        concurrency: 1,
        handler: async ({ signal }) => {
          calls += 1;
          if (calls === 1) await once(signal, 'abort');
        },
      });
    }),
  );
  const { hub, origin } = dashboard;
  const { id } = await hub.emit('report.due', {});
  await hub.emit('report.due', {});
  await signIn(page, dashboard, 'ada');
  await page.goto(`${origin}/#/events/report.due?every=1`);
  const panel = eventPanel(page, 'report.due');
  await expect(panel.locator(built('.panel-status'))).toContainText(
    /1 waiting, 1 running.*Why.*Its only slot is taken.*To do.*cancel it/,
  );
  await panel.getByRole('button', { name: 'Cancel event' }).click();
  await expect(page.getByRole('heading', { name: `Cancel the event ${id.slice(0, 8)}?` })).toBeVisible();
  await confirm(page, 'Cancel event', 'Cancelled.');
  await expect.poll(async () => (await hub.metrics('report.due')).completed).toBe(1);
  expect(await hub.metrics('report.due')).toMatchObject({ cancelled: 1 });
});

test('all dead letters of a type are replayed in pages, and the dialog says how many', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  let isFixed = false;
  const dashboard = await serve(
    withActions((hub) => {
      hub.event({
        type: 'payment.requested',
        handler() {
          if (!isFixed) throw new Error('card declined');
        },
      });
    }),
  );
  const { hub, origin } = dashboard;
  await hub.emitMany(
    'payment.requested',
    Array.from({ length: 250 }, (_, i) => i),
  );
  await expect.poll(async () => (await hub.metrics('payment.requested')).deadLetters).toBe(250);
  isFixed = true;
  await signIn(page, dashboard, 'ada');
  await page.goto(`${origin}/#/events/payment.requested`);
  const panel = eventPanel(page, 'payment.requested');
  const replay = panel.getByRole('button', { name: 'Replay 250 dead letters' });
  await expect(replay).toBeVisible();
  await expect(panel.getByRole('button', { name: 'Copy replay code' })).toHaveCount(0);
  await replay.click();
  await confirm(page, 'Replay 250 dead letters', 'Replayed 250.');
  await expect.poll(async () => (await hub.metrics('payment.requested')).completed).toBe(250);
  expect(await hub.audit()).toMatchObject([
    { target: { count: 50 } },
    { target: { count: 100 } },
    { target: { count: 100 } },
  ]);
});

test('the dead letters of one error are replayed from the view of errors, and others stay', {
  tag: '@any-width',
}, async ({ page, serve }) => {
  let isFixed = false;
  const dashboard = await serve(
    withActions((hub) => {
      hub.event<number>({
        type: 'payment.requested',
        handler({ payload }) {
          if (!isFixed) throw payload % 3 === 0 ? new TypeError('no amount') : new Error(`card ${payload} declined`);
        },
      });
    }),
  );
  const { hub, origin } = dashboard;
  for (let n = 1; n <= 9; n += 1) await hub.emit('payment.requested', n);
  await expect.poll(async () => (await hub.metrics('payment.requested')).deadLetters).toBe(9);
  isFixed = true;
  await signIn(page, dashboard, 'bob');
  await page.goto(`${origin}/#/errors?every=1`);
  const declined = page.locator(built('.errors-table tr'), { hasText: 'card # declined' });
  await expect(declined.locator('[data-label="Dead letters"]')).toHaveText('6 open');
  await expect(declined.getByRole('button', { name: 'Replay' })).toHaveCount(0);
  await signIn(page, dashboard, 'ada');
  await page.reload();
  await declined.getByRole('button', { name: 'Replay' }).click();
  await expect(page.getByRole('dialog')).toContainText(/×6 card # declinedError.*last seen/);
  await expectAccessible(page);
  await confirm(page, 'Replay 6 dead letters', 'Replayed 6.', 'bank is back');
  await expect.poll(async () => (await hub.metrics('payment.requested')).completed).toBe(6);
  await expect(declined.locator('[data-label="Dead letters"]')).toHaveText('0');
  expect((await hub.deadLetters('payment.requested')).map(({ payload }) => payload).toSorted()).toEqual([3, 6, 9]);
  expect(await hub.audit()).toMatchObject([{ action: 'replay', by: 'ada', target: { count: 6 } }]);
});

test('a run is forked from a step, and the fork links to its origin', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  let isFixed = false;
  let charges = 0;
  const label = (): void => {
    if (!isFixed) throw new FatalError('no carrier');
  };
  const steps = [
    { name: 'charge', handler: () => (charges += 1) },
    { name: 'label', handler: label },
    { name: 'ship', handler: () => {} },
  ];
  const dashboard = await serve(withActions((hub) => void hub.workflow(createWorkflow({ name: 'fulfil', steps }))));
  const { hub, origin } = dashboard;
  const { runId } = await hub.startWorkflow('fulfil', null);
  await expect.poll(async () => (await hub.find(runId))[0]?.status).toBe('failed');
  isFixed = true;
  await signIn(page, dashboard, 'ada');
  await page.goto(`${origin}/#/requests/${runId}`);
  await page.getByRole('button', { name: 'Fork', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('A new run starts in shop');
  // The step that failed is proposed, and steps that the run has not reached are not.
  const step = dialog.getByRole('combobox', { name: 'Step that runs again' });
  await expect(step).toHaveValue('label');
  expect(await step.getByRole('option').allTextContents()).toEqual(['charge', 'label']);
  await expectAccessible(page);
  await expectNoOverflow(page);
  await dialog.getByRole('button', { name: 'Fork', exact: true }).click();
  await dialog.getByRole('link', { name: 'Forked: show the new run' }).click();
  await expect(dialog).toHaveCount(0);
  const fork = page.getByRole('region', { name: /^Run / });
  await expect(fork).toContainText('Fork of');
  await expect(page).not.toHaveURL(new RegExp(runId));
  const link = fork.getByRole('link', { name: runId.slice(0, 8) });
  await expect(link).toHaveAttribute('href', new RegExp(`/requests/${runId}`));
  await expectAccessible(page);
  await expectNoOverflow(page);
  await link.click();
  await expect(page).toHaveURL(new RegExp(runId));
  await expect(page.getByRole('region', { name: `Run ${runId}` })).toContainText('no carrier');
  expect(charges).toBe(1);
  expect(await hub.audit()).toMatchObject([{ action: 'fork', by: 'ada', target: { id: runId, step: 'label' } }]);
});

test('a tag finds the events of types that show them, and of all types by right, without a URL', {
  tag: '@any-width',
}, async ({ page, serve }) => {
  const tags = (customer: string): string[] => [`customer:${customer}`];
  const dashboard = await serve(
    withActions((hub) => {
      hub.event<string>({ type: 'payment.requested', tags, showTags: true, handler: () => {} });
      hub.event<string>({ type: 'address.changed', tags, handler: () => {} });
    }),
  );
  const { hub, origin } = dashboard;
  for (const customer of ['17', '17', '18']) await hub.emit('payment.requested', customer);
  const { id: changed } = await hub.emit('address.changed', '17');
  const addresses: string[] = [];
  page.on('request', (request) => addresses.push(request.url()));
  const openTag = async (): Promise<void> => {
    await page.keyboard.press('ControlOrMeta+k');
    await page.getByRole('combobox', { name: 'Go to a view, a name or an id' }).fill('customer:17');
    await page.getByRole('option', { name: 'tag of events and runs' }).click();
  };
  await signIn(page, dashboard, 'bob');
  await page.goto(origin);
  await expect(eventRow(page, 'payment.requested')).toBeVisible();
  await openTag();
  await expect(page).toHaveURL(/#\/tagged\/customer%3A17$/);
  const rows = page.getByRole('table').locator('tbody > tr');
  await expect(rows).toHaveCount(2);
  for (const row of await rows.all()) {
    await expect(row).toContainText('payment.requested');
    await expect(row).toContainText('Completed');
  }
  await expectAccessible(page);
  await expectNoOverflow(page);
  await hub.emit('payment.requested', '17');
  await expect(rows).toHaveCount(3);
  expect(addresses.some((url) => url.endsWith('?tag=customer%3A17'))).toBe(true);

  await signIn(page, dashboard, 'ada');
  await page.goto(origin);
  addresses.length = 0;
  await page.reload();
  await expect(page.getByRole('button', { name: 'Menu' })).toBeVisible();
  await expect(eventRow(page, 'payment.requested')).toBeVisible();
  await openTag();
  await expect(page).toHaveURL(/#\/search$/);
  await expect(page.getByRole('textbox', { name: 'Tag' })).toHaveValue('customer:17');
  // Nothing is searched before the user submits.
  expect(await hub.audit()).toEqual([]);
  await page.keyboard.press('Enter');
  await expect(rows).toHaveCount(4);
  await expect(rows.first()).toContainText('payment.requested');
  await expect(rows.filter({ hasText: 'address.changed' })).toContainText(changed.slice(0, 8));
  await expectAccessible(page);
  await expectNoOverflow(page);
  await page.getByRole('textbox', { name: 'Tag' }).fill('customer:19');
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'Nothing found' })).toBeVisible();
  expect(addresses.filter((url) => url.includes('customer'))).toEqual([]);
  // The audit names neither tag nor key.
  expect(JSON.stringify(await hub.audit())).not.toContain('customer:1');
  const searches = async () => (await hub.audit()).map(({ action, by }) => `${action} ${by}`);
  expect(await searches()).toEqual(['search ada', 'search ada']);
  // A link with a tag searches nothing either.
  await page.goto(`${origin}/#/search/customer%3A17`);
  await page.reload();
  await expect(page.getByRole('textbox', { name: 'Tag' })).toHaveValue('');
  expect(await searches()).toEqual(['search ada', 'search ada']);
});

const requested = createEvent<ApprovalRequest>({ type: 'approval.requested' });
const decided = createEvent<ApprovalDecided>({ type: 'approval.decided', key: ({ approvalId }) => approvalId });

function registerSupport(hub: Hub): void {
  const agent = createAgent({
    name: 'support',
    systemPrompt: 'Help.',
    model: { model: 'small-1' },
    provider: scriptedProvider([{ toolCalls: [{ name: 'refund', arguments: { cents: 9_900 } }] }, { content: 'done' }]),
    tools: [
      createTool({
        name: 'refund',
        description: '',
        parameters: { type: 'object' },
        execute: async () => 'paid',
        needsApproval: true,
      }),
    ],
  });
  hub.event(requested, { handler: () => {} });
  hub.event(decided);
  hub.event({
    type: 'ticket.opened',
    handler: agent.asHandler({ approvals: { requested, decided, timeoutMs: 7_200_000 } }),
  });
}

test('an approval shows the arguments of its call, and is decided on the page', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  const dashboard = await serve(withActions(registerSupport));
  const { hub, origin } = dashboard;
  await hub.emit('ticket.opened', 'refund please');
  await expect.poll(async () => (await hub.waits()).approvals).toBe(1);
  await signIn(page, dashboard, 'ada');
  await page.goto(`${origin}/#/waits`);
  await expectNoOverflow(page);
  await page.getByRole('button', { name: 'Decide' }).click();
  await expect(page.getByRole('dialog')).toContainText('"cents": 9900');
  await expect(page.getByRole('dialog')).toContainText('refund please');
  await expect(page.getByRole('dialog')).toContainText(
    /Since.*, until .*\d\d:\d\d.* \(in .*\), then it counts as refused/,
  );
  await expectAccessible(page);
  await confirm(page, 'Approve', 'Approved.', 'within the limit');
  await expect.poll(async () => (await hub.metrics('ticket.opened')).completed).toBe(1);
  expect(await hub.audit()).toMatchObject([{ action: 'approve', reason: 'within the limit' }, { action: 'payload' }]);
});
