import { createAgent, createWorkflow, FatalError, type Hub } from 'hubline';
import { scriptedProvider } from 'hubline/testing';
import type { Page } from 'playwright/test';
import { expect, test } from '../testing/fixtures.js';
import { runClockUntil, stopClock } from '../testing/page-clock.js';
import {
  chooseInMenu,
  connectionWord,
  eventPanel,
  eventRow,
  expectConnection,
  expectCounts,
} from '../testing/page-parts.js';
import type { DashboardSetup, RunningDashboard } from '../testing/start-dashboard.js';

function registerShop(hub: Hub): void {
  const triage = createAgent({
    name: 'triage',
    description: 'Sorts tickets.',
    systemPrompt: 'Sort.',
    model: { model: 'small-1' },
    provider: scriptedProvider([
      { content: 'urgent', usage: { promptTokens: 12_000, completionTokens: 345, totalTokens: 12_345 } },
    ]),
  });
  hub.event({ type: 'order.paid' });
  hub.event({ type: 'order.stuck', handler: () => {} });
  hub.event({
    type: 'payment.requested',
    description: 'Charges the card.',
    schema: { type: 'object' },
    onFailure: 'order.stuck',
    handler() {
      throw new FatalError('card declined');
    },
  });
  hub.event({ type: 'ticket.created', handler: triage.asHandler() });
  hub.workflow(
    createWorkflow({
      name: 'fulfil',
      description: 'From the payment to the parcel.',
      trigger: 'order.paid',
      onFailure: 'order.stuck',
      steps: [
        { name: 'pick', handler: () => null },
        {
          name: 'ship',
          handler() {
            throw new FatalError('no such address');
          },
        },
      ],
    }),
  );
}

/** Opens this view of a hub with completed and failed events. */
async function openShop(
  page: Page,
  serve: (setup: DashboardSetup) => Promise<RunningDashboard>,
  hash: string,
): Promise<RunningDashboard> {
  const dashboard = await serve({ register: registerShop });
  await dashboard.hub.emit('payment.requested', {});
  await dashboard.hub.emit('order.paid', {});
  await dashboard.hub.emit('ticket.created', 'Where is my order?');
  await page.goto(`${dashboard.origin}/${hash}`);
  return dashboard;
}

test('events: landmarks, headings, labelled controls, and a table with row headers', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  await page.setViewportSize({ width: 1_280, height: 800 });
  await openShop(page, serve, '#/?every=1');
  await expectCounts(eventRow(page, 'payment.requested'), 1, 1);
  await expect(page.locator('body')).toMatchAriaSnapshot(`
    - link "Skip to events"
    - banner:
      - heading "shop" [level=1]
      - navigation "Views":
        - link "Events 4"
        - link "Workflows 1"
        - link "Agents 1"
      - button /^Live/
      - button "Menu"
    - main:
      - region "Needs attention":
        - heading "Needs attention" [level=2]
        - list:
          - listitem:
            - text: "Error:"
            - link "payment.requested"
            - text: /1 of 1 failed in 5 min/
      - region "Overview":
        - term: Failed events 5 min
        - definition: "1"
        - term: Received events since start
        - definition: "5"
        - region "Events per minute":
          - heading "Events per minute" [level=2]
          - group "Range of the chart":
            - button "5 min" [pressed]
            - button "1 h"
          - slider "Events per minute, last 5 min"
          - group: View data
      - region "Events":
        - heading "Events" [level=2]
        - searchbox "Search event types"
        - group "Show event types":
          - button "All 4" [pressed]
          - button "Failing 1"
        - button "Group by prefix"
        - table /^Event types/:
          - rowgroup:
            - row:
              - columnheader "Status":
                - button "Status"
              - columnheader "Event type"
              - columnheader "Failure rate 5 min"
          - rowgroup:
            - row /^Failing payment.requested/:
              - cell "Failing"
              - rowheader "payment.requested":
                - link "payment.requested"
              - cell
              - cell /min|s$/
              - cell "1"
              - cell "100%"
    - status
  `);
});

test('panel: name, status, counts, failures, triggers and settings', { tag: '@any-width' }, async ({ page, serve }) => {
  await openShop(page, serve, '#/events/payment.requested?every=1');
  await expect(eventPanel(page, 'payment.requested')).toMatchAriaSnapshot(`
    - complementary "payment.requested":
      - heading "payment.requested" [level=2]
      - text: Failing
      - paragraph: /1 of 1 failed in 5 min \\(100%\\) · .* ago/
      - paragraph: Charges the card.
      - heading "Errors all failures" [level=3]
      - list:
        - listitem:
          - strong: ×1 card declined
          - text: FatalError new in 24 h still fails, last seen
          - time
          - text: ", first"
          - time
          - group: Newest failures
      - link "All errors"
      - heading "Dead letters 1 open" [level=3]
      - button "Copy replay code"
      - heading "Events per minute" [level=3]
      - slider "Events per minute of this type, last 5 min"
      - group: View data
      - heading "Durations" [level=3]
      - table "Durations"
      - heading "Counts since start" [level=3]
      - term: Received
      - definition: "1"
      - heading "Triggers" [level=3]
      - term: On failure
      - definition:
        - link "order.stuck"
      - heading "Settings" [level=3]
      - heading "Payload schema" [level=3]
  `);
});

const fulfilGraph = `
      - list "fulfil, from start to end":
        - listitem:
          - text: Trigger
          - link "order.paid"
        - listitem: /pick/
        - listitem: "/ship — Failure rate: 100%/"
        - listitem:
          - text: On failure
          - link "order.stuck"`;
const fulfilRuns = `
      - list "Recent runs":
        - listitem:
          - text: Failed
          - button
          - list "Steps":
            - 'listitem /pick: completed/'
            - 'listitem /ship: failed/'
          - paragraph:
            - strong: FatalError
            - text: "in ship: no such address"`;

test('workflows: a table with row headers', { tag: '@any-width' }, async ({ page, serve }) => {
  await page.setViewportSize({ width: 1_280, height: 800 });
  await openShop(page, serve, '#/workflows?every=1');
  await expect(page.getByRole('region', { name: 'Workflows' })).toMatchAriaSnapshot(`
    - heading "Workflows" [level=2]
    - table "Workflows":
      - rowgroup:
        - row "Workflow Trend 20 min Started 5 min Failed 5 min Failure rate 5 min Waiting now Suspended now Running now p50 10 runs Last run"
      - rowgroup:
        - row:
          - rowheader /fulfil Failing From the payment to the parcel\\. .*failed in 5 min/:
            - link "fulfil"
          - cell
          - cell "1"
          - cell "1"
          - cell "100%"
          - cell "0"
          - cell "0"
          - cell "0"
          - cell "—"
          - cell /Failed (now|\\d+ s ago)/
  `);
});

test('one workflow: link to all workflows, and the same lists', { tag: '@any-width' }, async ({ page, serve }) => {
  await openShop(page, serve, '#/workflows/fulfil?every=1');
  await expect(page.getByRole('region', { name: 'Workflows' })).toMatchAriaSnapshot(`
    - heading "Workflows" [level=2]
    - link "All workflows"
    - article "fulfil":
      - heading "fulfil" [level=3]${fulfilGraph}
      - heading "Runs the last 1 that failed, then the 1 newest and those suspended longest" [level=4]
      - group "Status of the runs":
        - button "All" [pressed]
        - button "Failed"${fulfilRuns}
  `);
});

test('agents: a table with row headers and links to users', { tag: '@any-width' }, async ({ page, serve }) => {
  await page.setViewportSize({ width: 1_280, height: 800 });
  await openShop(page, serve, '#/agents?every=1');
  await expect(page.getByRole('region', { name: 'Agents' })).toMatchAriaSnapshot(`
    - heading "Agents" [level=2]
    - table "Agents":
      - rowgroup:
        - row:
          - columnheader "Agent"
          - columnheader "Model"
      - rowgroup:
        - row /^triage/:
          - rowheader /triage/:
            - link "triage"
          - cell "small-1"
          - cell "1"
          - cell "0%"
          - cell "12.3K"
          - cell
          - cell
          - cell
          - cell
          - cell "ticket.created":
            - link "ticket.created"
  `);
});

test('empty hub: the reason and the next step', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin } = await serve();
  await page.goto(origin);
  await expect(page.getByRole('region', { name: 'Events' }).last()).toMatchAriaSnapshot(`
    - heading "Events" [level=2]
    - heading "No event types yet" [level=3]
    - paragraph: /Register an event type/
    - text: /hub.event/
    - button "Copy code"
  `);
});

test('dialogs: labels and close buttons', { tag: '@any-width' }, async ({ page, serve }) => {
  await openShop(page, serve, '#/?every=1');
  await expectConnection(page, 'Live');
  await chooseInMenu(page, 'Snapshot');
  await expect(page.getByRole('dialog')).toMatchAriaSnapshot(`
    - dialog "Snapshot":
      - heading "Snapshot" [level=2]
      - paragraph
      - alert
      - button "Save snapshot"
      - button "Open snapshot"
      - button "Close"
  `);
  await page.keyboard.press('Escape');
  await chooseInMenu(page, /^Keyboard shortcuts/);
  await expect(page.getByRole('dialog')).toMatchAriaSnapshot(`
    - dialog "Keyboard shortcuts":
      - heading "Keyboard shortcuts" [level=2]
      - term: /
      - definition: Search event types
      - checkbox "Enable single-key shortcuts" [checked]
      - button "Close"
  `);
});

test.describe('while the server is down', () => {
  test.use({ expectsOutages: true });

  test('a lost connection is a region and is announced', { tag: '@any-width' }, async ({ page, serve }) => {
    const dashboard = await openShop(page, serve, '#/?every=1');
    await expectConnection(page, 'Live');
    await dashboard.kill();
    await expect(page.getByRole('status')).toHaveText(/The connection is lost\./);
    await expect(page.locator('body')).toMatchAriaSnapshot(`
      - banner:
        - button /^Lost/
      - main:
        - region "Events":
          - table /^Event types/
      - region "Connection":
        - paragraph:
          - strong: The server does not respond.
          - text: /The data is from .* old\\./
        - button "Retry now"
      - status: /The connection is lost\\./
    `);
  });

  test('a server that stops responding is reported as stale', { tag: '@any-width' }, async ({ page, serve }) => {
    await page.clock.install();
    const dashboard = await openShop(page, serve, '#/?every=1');
    await expectConnection(page, 'Live');
    await stopClock(page);
    await runClockUntil(page, connectionWord(page, 'Live'));
    dashboard.intercept = () => true;
    await runClockUntil(page, page.getByRole('banner').getByRole('button', { name: /^Stale \d+ s/ }));
    await expect(page.getByRole('region', { name: 'Connection' })).toMatchAriaSnapshot(`
      - region "Connection":
        - paragraph:
          - strong: The server is slow to respond.
          - text: /The data is from .* old\\./
        - button "Retry now"
    `);
  });
});
