import {
  type Agent,
  createAgent,
  createHub,
  createTool,
  createWorkflow,
  FatalError,
  type Hub,
  memoryTransport,
} from 'hubline';
import { redisTransport } from 'hubline/redis';
import { type ScriptEntry, scriptedProvider } from 'hubline/testing';
import type { Locator, Page } from 'playwright/test';
import { built } from '../../scripts/page/built-classes.js';
import { type RedisServer, startRedisServer } from '../../scripts/redis-server.js';
import { runInProcess } from '../../server/cli/in-process.fixture.js';
import { REQUEST_ID } from '../../ui/testing/answer-request.js';
import { serveAnswers } from '../testing/answering-dashboard.js';
import { expectAccessible } from '../testing/expect-accessible.js';
import { expect, test } from '../testing/fixtures.js';
import { eventPanel, eventRow, expectNoOverflow } from '../testing/page-parts.js';

interface Order {
  readonly isBad: boolean;
}

/** Creates an agent that looks a customer up, which fails, and answers. */
function apologist(): Agent {
  const usage = { promptTokens: 1_640, completionTokens: 212, totalTokens: 1_852 };
  const answer: ScriptEntry = ({ messages }) => {
    const hasResult = messages.some(({ role }) => role === 'tool');
    return hasResult
      ? { content: 'We are sorry.', usage }
      : { toolCalls: [{ name: 'find_customer', arguments: {} }], usage };
  };
  return createAgent({
    name: 'apologist',
    systemPrompt: 'Apologize.',
    model: { model: 'small-1' },
    prices: { 'small-1': { input: 1, output: 2 } },
    provider: scriptedProvider(Array.from({ length: 4 }, () => answer)),
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
  return page.locator(built('.trace-row')).filter({ has: page.locator(built('.trace-name bdi'), { hasText: name }) });
}

/** Runs `hubline`. Returns the standard output. */
async function hubline({ url }: RedisServer, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runInProcess([...args, '--redis', url, '--timeout', '60']);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

/** Runs the command that a button copies. Returns the standard output. */
async function runShown(facts: Locator, redis: RedisServer): Promise<string> {
  const command = await facts.getByRole('button', { name: 'Copy replay command' }).getAttribute('title');
  const [npx, name, ...args] = (command ?? '').split(' ');
  expect([npx, name]).toEqual(['npx', 'hubline']);
  return hubline(redis, ...args);
}

/** Reads from the command line alone why a request failed. Returns the commands that it prints to replay it. */
async function explainOnCommandLine(redis: RedisServer, requestId: string): Promise<readonly string[][]> {
  const tree = await hubline(redis, 'request', requestId);
  const show = (type: string): Promise<string> => {
    const [, id] = new RegExp(`^ *${type} .* (\\S+) \\(`, 'm').exec(tree) ?? [];
    return hubline(redis, 'show', String(id));
  };
  const [payment, run, complaint] = [
    await show('payment.requested'),
    await show('fulfil'),
    await show('complaint.expected'),
  ];
  expect(payment).toMatch(/^payment\.requested failed .*card declined in attempt 2/);
  expect(payment).toMatch(/attempt 1 .*card declined in attempt 1\n.*attempt 2 .*card declined in attempt 2\n/);
  expect(run).toMatch(/^fulfil failed .*at ship: FatalError: no such address/);
  expect(run).toMatch(/step pick {2}completed .*\n.*step ship {2}failed .*no such address/);
  expect(complaint).toMatch(/step turn 1 .*agent apologist {2}model small-1 {2}1640 \+ 212 tokens {2}cost 0\.00206/);
  expect(complaint).toMatch(/step turn 1 \/ find_customer .*the model received an error\n.*step turn 2 .*completed/);
  return [payment, run].map((text) => (/dead letter: hubline (.*)$/m.exec(text)?.[1] ?? '').split(' '));
}

test.describe('in a shop on Redis', () => {
  let redis: RedisServer;
  test.beforeAll(async () => {
    redis = await startRedisServer();
  });
  test.afterAll(() => redis.release());

  test('failed events are found from their requests among 10,000, explained and replayed, on the page and in a terminal', {
    tag: '@any-width',
  }, async ({ page, serve }) => {
    let isRepaired = false;
    const { origin, hub } = await serve({
      hubOptions: { transport: redisTransport({ url: redis.url, emitTimeoutMs: 60_000 }) },
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
        shop.event({ type: 'page.viewed', handler: () => {} });
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
                  if (Object(payload).isBad && !isRepaired) throw new FatalError('no such address');
                },
              },
            ],
          }),
        );
      },
    });
    const requestId = 'request-of-customer-4711';
    const otherRequestId = 'request-of-customer-4712';
    for (const id of [requestId, otherRequestId]) await hub.emit('order.created', { isBad: true }, { requestId: id });
    const good = Array.from({ length: 100 }, () => ({ isBad: false }));
    await hub.emitMany('order.created', good);
    const views = Array.from({ length: 1_000 }, (_, view) => ({ view }));
    for (let n = 0; n < 10; n += 1) await hub.emitMany('page.viewed', views);
    await page.goto(`${origin}/#/?every=1`);
    // Complaints follow the last failures of both requests.
    await expect(eventRow(page, 'complaint.expected').locator('.col-received')).toHaveText('2', { timeout: 60_000 });
    for (const type of ['order.created', 'payment.requested', 'complaint.expected', 'page.viewed']) {
      await expect(eventRow(page, type).locator('.col-pending')).toHaveText('0', { timeout: 60_000 });
    }
    const failedRuns = async () =>
      (await hub.introspect()).workflows.find(({ name }) => name === 'fulfil')?.metrics.failed;
    await expect.poll(failedRuns).toBe(2);
    const attention = page.getByRole('region', { name: 'Needs attention' });
    await expect(attention).toContainText('payment.requested');
    await expect(attention).toContainText('fulfil');

    const search = page.getByRole('searchbox', { name: 'Search event types' });
    await search.fill(requestId);
    await expect(page.getByRole('button', { name: 'Look up as an event or request id' })).toBeVisible();
    await search.press('Enter');
    await expect(page).toHaveURL(new RegExp(`#/requests/${requestId}`));
    await expect(page.getByRole('heading', { name: new RegExp(`^\\S+ in request ${requestId}$`) })).toBeVisible();
    const payment = traceRow(page, 'payment.requested');
    await expect(payment).toContainText('Failed');
    await expect(traceRow(page, 'Attempt 1')).toContainText('card declined in attempt 1');
    await expect(traceRow(page, 'Attempt 2')).toContainText('card declined in attempt 2');
    await expect(traceRow(page, 'pick')).toContainText('Completed');
    await expect(traceRow(page, 'ship')).toContainText('no such address');
    await expect(traceRow(page, 'turn 1')).toContainText('1,640 in 212 out · cost 0.0021');
    // The model of all turns stands once, above the table.
    await expect(page.locator(built('.request-card'))).toContainText('Modelsmall-1');
    await expect(traceRow(page, 'turn 1')).not.toContainText('small-1');
    await expect(traceRow(page, 'find_customer')).toContainText('the model received an error');
    await expect(traceRow(page, 'turn 2')).toContainText('Completed');
    await expect(page.getByText('No longer retained: 1 event of the request that led to others')).toBeVisible();

    const replays = await explainOnCommandLine(redis, otherRequestId);
    expect(await runInProcess(['status', '--redis', redis.url])).toMatchObject({ code: 4 });

    await payment.getByRole('link').click();
    const facts = page.getByRole('region', { name: /^(Event|Run) / });
    await expect(facts).toContainText('card declined in attempt 2');
    isRepaired = true;
    expect(await runShown(facts, redis)).toBe('Replayed 1 of 1.\n');
    await expect(payment).toContainText('Completed');
    await expect(page.getByRole('button', { name: /^Copy replay/ })).toBeHidden();
    await traceRow(page, 'fulfil').getByRole('link').click();
    expect(await runShown(facts, redis)).toBe('Replayed 1 of 1.\n');
    await expect(traceRow(page, 'ship')).toContainText('Completed');
    for (const replay of replays) expect(await hubline(redis, ...replay)).toBe('Replayed 1 of 1.\n');
    await expect(async () => {
      expect(await hubline(redis, 'request', otherRequestId)).not.toContain('failed');
      expect(await hubline(redis, 'status')).toMatch(/^ok: /);
    }).toPass();
    await page.getByRole('button', { name: 'Events' }).click();
    await expect(attention).toContainText('Nothing failed in the last 5 min');
    await page.goBack();
    await payment.getByRole('link').click();

    // The panel of the type leads to the same request.
    await page.getByRole('heading', { level: 2 }).getByRole('link', { name: 'payment.requested' }).click();
    const panel = eventPanel(page, 'payment.requested');
    await expect(panel.getByText('Recent events')).toBeVisible();
    await panel
      .locator(built('.recent-events'))
      .getByRole('link', { name: /^\S{8}$/ })
      .first()
      .click();
    await expect(page).toHaveURL(/#\/requests\//);
    await expect(traceRow(page, 'payment.requested')).toHaveCount(1);
  });
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
  const head = page.locator(built('.request-card .stats > div'));
  await expect(head.filter({ hasText: 'Status' })).toHaveText('Statuspayment.requested failed');
  await expect(head.filter({ hasText: 'Events and runs' })).toHaveText('Events and runs4');
  await expect(head.filter({ hasText: 'Pending' })).toHaveText('Pending1');
  await expectAccessible(page);
  await expectNoOverflow(page);

  await traceRow(page, 'payment.requested').getByRole('link').click();
  const facts = page.getByRole('region', { name: /^Event / });
  await expect(facts.getByRole('link', { name: REQUEST_ID.slice(0, 8) })).toBeVisible();
  await expectAccessible(page);
  await facts.getByRole('link', { name: REQUEST_ID.slice(0, 8) }).click();
  await expect(page).toHaveURL(new RegExp(REQUEST_ID));

  await page.getByRole('button', { name: 'Events' }).click();
  await expect(page.getByRole('searchbox')).toBeVisible();
});

test('an interrupted attempt, a wait that a cancellation ended and a long error can be read', {
  tag: '@any-width',
}, async ({ page, serve }) => {
  const transport = memoryTransport();
  const message = `the gateway declined the card: ${'insufficient funds, '.repeat(12)}ask the customer`;
  const stopped = createHub({ service: 'shop', transport });
  stopped.event({ type: 'charge', handler: () => new Promise(() => {}) });
  await stopped.start();
  const { id } = await stopped.emit('charge', null, { requestId: 'order 17' });
  await expect.poll(async () => (await stopped.find(id))[0]?.status).toBe('active');
  const { origin, hub } = await serve({
    hubOptions: { service: 'shop', transport },
    register: (shop: Hub) => {
      shop.event({
        type: 'charge',
        handler: () => {
          throw new FatalError(message);
        },
      });
      shop.event({ type: 'parcel.scanned' });
      shop.workflow(
        createWorkflow({
          name: 'deliver',
          run: ({ step }) => step.waitForEvent('scan', 'parcel.scanned'),
        }),
      );
    },
  });
  await stopped.stop({ drainMs: 0 });
  const { runId } = await hub.startWorkflow('deliver', null, { requestId: 'order 17' });
  await expect.poll(async () => (await hub.find(runId))[0]?.status).toBe('suspended');
  await hub.cancel(runId);
  await page.goto(`${origin}/#/requests/order%2017`);
  await expect(page.locator(built('.trace-row'))).toHaveText([
    /charge.*Failed/,
    /Attempt 1Interrupted/,
    /Attempt 1the gateway.*Failed/,
    /deliver.*Cancelled/,
    /scan.*waited for parcel\.scanned.*Cancelled/,
  ]);
  await expectAccessible(page);
  await expectNoOverflow(page);

  const note = page.getByRole('button', { name: message }).first();
  const all = page.locator('[popover]').filter({ hasText: message }).first();
  await expect(all).toBeHidden();
  await note.press('Enter');
  await expect(all).toBeVisible();
  await expectAccessible(page);
  const box = await all.boundingBox();
  const { width, height } = page.viewportSize() ?? { width: 0, height: 0 };
  expect(box?.x).toBeGreaterThanOrEqual(0);
  expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(width);
  expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(height);
  expect(await all.evaluate((element) => element.scrollWidth - element.clientWidth)).toBeLessThanOrEqual(0);
  await page.keyboard.press('Escape');
  await expect(all).toBeHidden();
});

test('of a thousand bars only visible rows are in the document', { tag: '@any-width' }, async ({ page, serve }) => {
  const { dashboard, answers, now } = await serveAnswers(serve);
  const body = answers.request(now());
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
  expect(await page.locator(built('.trace-row')).count()).toBeLessThan(100);
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
