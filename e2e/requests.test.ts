import { type Agent, createAgent, createTool, createWorkflow, FatalError, type Hub } from 'hubline';
import { scriptedProvider } from 'hubline/testing';
import type { Locator, Page } from 'playwright/test';
import { REQUEST_ID } from '../ui/testing/answer-request.js';
import { serveAnswers } from './answering-dashboard.js';
import { expectAccessible } from './expect-accessible.js';
import { expect, test } from './fixtures.js';
import { eventPanel, eventRow } from './page-parts.js';

interface Order {
  readonly isBad: boolean;
}

/** Creates an agent that looks a customer up, which fails, and answers. */
function apologist(): Agent {
  const usage = { promptTokens: 1_640, completionTokens: 212, totalTokens: 1_852 };
  return createAgent({
    name: 'apologist',
    systemPrompt: 'Apologize.',
    model: { model: 'small-1' },
    prices: { 'small-1': { input: 1, output: 2 } },
    provider: scriptedProvider([
      { toolCalls: [{ name: 'find_customer', arguments: {} }], usage },
      { content: 'We are sorry.', usage },
    ]),
    tools: [
      createTool({
        name: 'find_customer',
        description: 'Finds a customer.',
        parameters: { type: 'object' },
        execute: async () => {
          throw new Error('no such customer');
        },
      }),
    ],
  });
}

/** Returns the row of a trace whose name starts with a text. */
function traceRow(page: Page, name: string): Locator {
  return page.locator('.trace-row').filter({ has: page.locator('.trace-name bdi', { hasText: name }) });
}

test('a failed event is found from its request among 10,000, explained and replayed', {
  tag: '@any-width',
}, async ({ page, serve }) => {
  let isRepaired = false;
  const { origin, hub } = await serve({
    register: (shop: Hub) => {
      shop.event<Order>({
        type: 'order.created',
        onSuccess: 'payment.requested',
        handler: ({ payload }) => payload,
      });
      shop.event<Order>({
        type: 'payment.requested',
        retry: { maxAttempts: 2, initialDelayMs: 5 },
        onFailure: 'complaint.expected',
        handler({ payload, attempt }) {
          if (payload.isBad && !isRepaired) throw new Error(`card declined in attempt ${attempt}`);
        },
      });
      shop.event({ type: 'complaint.expected', handler: apologist().asHandler() });
      shop.workflow(
        createWorkflow({
          name: 'fulfil',
          trigger: 'order.created',
          steps: [
            { name: 'pick', handler: ({ payload }) => payload },
            {
              name: 'ship',
              handler({ payload }) {
                if (Object(payload).isBad) throw new FatalError('no such address');
              },
            },
          ],
        }),
      );
    },
  });
  const requestId = 'request-of-customer-4711';
  await hub.emit('order.created', { isBad: true }, { requestId });
  for (let n = 0; n < 10; n += 1) {
    await hub.emitMany(
      'order.created',
      Array.from({ length: 1_000 }, () => ({ payload: { isBad: false } })),
    );
  }
  await page.goto(`${origin}/#/?every=1`);
  await expect(eventRow(page, 'payment.requested').locator('.col-pending')).toHaveText('0');

  const search = page.getByRole('searchbox', { name: 'Search event types' });
  await search.fill(requestId);
  await expect(page.getByRole('button', { name: 'Look up as an event or request id' })).toBeVisible();
  await search.press('Enter');
  await expect(page).toHaveURL(new RegExp(`#/requests/${requestId}`));
  await expect(page.getByRole('heading', { name: `Request ${requestId}` })).toBeVisible();
  const payment = traceRow(page, 'payment.requested');
  await expect(payment).toContainText('Failed');
  await expect(traceRow(page, 'Attempt 1')).toContainText('card declined in attempt 1');
  await expect(traceRow(page, 'Attempt 2')).toContainText('card declined in attempt 2');
  await expect(traceRow(page, 'pick')).toContainText('Completed');
  await expect(traceRow(page, 'ship')).toContainText('no such address');
  await expect(traceRow(page, 'turn 1')).toContainText('small-1 · 1,640 + 212 tokens · cost 0.0021');
  await expect(traceRow(page, 'find_customer')).toContainText('the model received an error');
  await expect(traceRow(page, 'turn 2')).toContainText('Completed');
  await expect(page.getByText('1 event of the request that led to others is no longer retained')).toBeVisible();

  await payment.getByRole('link').click();
  const facts = page.getByRole('region', { name: /^Event / });
  await expect(facts).toContainText('card declined in attempt 2');
  const code = (await facts.locator('pre').textContent()) ?? '';
  const id = /hub\.replay\('(.+)'\)/.exec(code)?.[1] ?? '';
  expect(page.url()).toContain(encodeURIComponent(id));
  isRepaired = true;
  await hub.replay(id);
  await expect(payment).toContainText('Completed');
  await expect(page.getByRole('button', { name: 'Copy code' })).toBeHidden();

  // The panel of the type leads to the same request.
  await facts.getByRole('link', { name: 'payment.requested' }).click();
  const panel = eventPanel(page, 'payment.requested');
  await expect(panel.getByText('Recent events')).toBeVisible();
  await panel
    .locator('.recent-events')
    .getByRole('link', { name: /^\S{8}$/ })
    .first()
    .click();
  await expect(page).toHaveURL(/#\/requests\//);
  await expect(traceRow(page, 'payment.requested')).toHaveCount(1);
});

test('a request is a tree with bars and times, and its parts link to each other', async ({ page, serve }) => {
  const { dashboard } = await serveAnswers(serve);
  await page.goto(`${dashboard.origin}/#/requests/${REQUEST_ID}`);
  const table = page.getByRole('table', { name: /^Events, runs, attempts and steps/ });
  await expect(table).toHaveAttribute('aria-rowcount', '12');
  await expect(table.getByRole('rowheader')).toHaveText([
    /order\.created/,
    /payment\.requested.*card declined/,
    /Attempt 1.*no response/,
    /Attempt 2.*no response/,
    /Attempt 3.*card declined/,
    /order\.failed/,
    /fulfil.*workflow/,
    /pick$/,
    /cool down.*sleep/,
    /pack$/,
    /parcel scanned.*waits for parcel\.scanned/,
  ]);
  await expect(page.getByText(/^4 events and runs · 1 failed · 1 pending · /)).toBeVisible();
  await expectAccessible(page);
  expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);

  await traceRow(page, 'payment.requested').getByRole('link').click();
  const facts = page.getByRole('region', { name: /^Event / });
  await expect(facts.getByRole('link', { name: REQUEST_ID.slice(0, 8) })).toBeVisible();
  await expectAccessible(page);
  await facts.getByRole('link', { name: REQUEST_ID.slice(0, 8) }).click();
  await expect(page).toHaveURL(new RegExp(REQUEST_ID));

  await page.getByRole('button', { name: 'Events' }).click();
  await expect(page.getByRole('searchbox')).toBeVisible();
});

test('of a thousand bars only visible rows are in the document', async ({ page, serve }) => {
  const { dashboard, answers } = await serveAnswers(serve);
  const now = Date.now();
  const body = answers.request(now);
  const [root] = body.events;
  if (root === undefined) throw new Error('the request has no events');
  const events = Array.from({ length: 1_000 }, (_, n) => ({
    ...root,
    ...(n > 0 && { id: `event-${n}`, causeId: n % 3 === 0 ? root.id : `event-${n - 1}` }),
    acceptedAt: root.acceptedAt + n * 10,
  }));
  const answerAll = dashboard.intercept;
  dashboard.intercept = (req, res) => {
    if (!(req.url ?? '').includes('request=')) return answerAll(req, res);
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ ...body, events }));
    return true;
  };
  await page.goto(`${dashboard.origin}/#/requests/${root.id}`);
  await expect(page.getByRole('table')).toHaveAttribute('aria-rowcount', '1001');
  expect(await page.locator('.trace-row').count()).toBeLessThan(100);
  await page.keyboard.press('End');
  await expect(page.locator('[aria-rowindex="1001"]')).toBeInViewport();
});

test.describe('an id of which nothing is retained', () => {
  test.use({ expectsOutages: true });

  test('is reported', { tag: '@any-width' }, async ({ page, serve }) => {
    const { origin } = await serve();
    await page.goto(`${origin}/#/requests/lost-request`);
    await expect(page.getByRole('heading', { name: 'Not found' })).toBeVisible();
    await expect(page.getByText('Nothing of a request with this id is retained.')).toBeVisible();
    await expectAccessible(page);
  });
});
