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
import { expect, test } from '../testing/fixtures.js';

const requested = createEvent<ApprovalRequest>({ type: 'approval.requested' });
const decided = createEvent<ApprovalDecided>({ type: 'approval.decided', key: ({ approvalId }) => approvalId });

function register(hub: Hub): void {
  const agent = createAgent({
    name: 'customer_support_triage',
    systemPrompt: 'Help.',
    model: { model: 'large-language-model-2026-10' },
    provider: scriptedProvider([{ toolCalls: [{ name: 'issue_partial_refund', arguments: {} }] }]),
    tools: [
      createTool({
        name: 'issue_partial_refund',
        description: '',
        parameters: { type: 'object' },
        execute: async () => 'paid',
        needsApproval: true,
      }),
    ],
  });
  hub.event({
    type: 'customer.ticket.refund_requested',
    handler: agent.asHandler({ approvals: { requested, decided } }),
  });
  hub.event(requested, { handler: () => {} });
  hub.event(decided);
  hub.event({
    type: 'customer.subscription.renewal_reminder.requested',
    handler() {
      throw new FatalError('no address');
    },
  });
  hub.workflow(createWorkflow({ name: 'synchronize_inventory_levels', run: async () => null }));
  hub.schedule({
    name: 'inventory_levels.nightly',
    cron: '0 3 * * *',
    start: 'synchronize_inventory_levels',
    payload: null,
  });
}

/** Names of the page that break within a word, with a bar at the break. */
const brokenWords = `[...document.querySelectorAll('bdi')].flatMap((name) => {
  const texts = document.createTreeWalker(name, NodeFilter.SHOW_TEXT);
  let [shown, lastTop] = ['', 0];
  while (texts.nextNode()) {
    for (let at = 0; at < texts.currentNode.length; at += 1) {
      const range = document.createRange();
      range.setStart(texts.currentNode, at);
      range.setEnd(texts.currentNode, at + 1);
      const { top, height } = range.getBoundingClientRect();
      if (shown !== '' && top > lastTop + height / 2 && !/[._:\\/\\s-]$/.test(shown)) shown += '|';
      shown += range.toString();
      lastTop = top;
    }
  }
  return shown.includes('|') ? [shown] : [];
})`;

test('names break after their separators, at any width', { tag: '@any-width' }, async ({ page, serve }) => {
  const { origin, hub } = await serve({ register });
  await hub.emit('customer.ticket.refund_requested', 'It arrived broken.');
  await hub.emit('customer.subscription.renewal_reminder.requested', {});
  await expect.poll(async () => (await hub.waits()).approvals).toBe(1);
  for (const [path, text] of [
    ['waits', 'issue_partial_refund'],
    ['agents', 'customer_support_triage'],
    ['errors', 'no address'],
    ['schedules', 'synchronize_inventory_levels'],
    ['events/customer.subscription.renewal_reminder.requested', 'Durations'],
  ] as const) {
    await page.goto(`${origin}/#/${path}?every=off`);
    await expect(page.getByText(text).first()).toBeVisible();
    for (const width of [320, 600, 900, 1_000, 1_100, 1_280]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await page.evaluate<string[]>(brokenWords), `${path} at ${width}`).toEqual([]);
    }
  }
});
