import { setTimeout as delay } from 'node:timers/promises';
import {
  createActionsHandler,
  createAgent,
  createDashboardHandler,
  createHub,
  createTool,
  createWorkflow,
  type DashboardHandler,
  FatalError,
  type Hub,
  type RunCtx,
} from 'hubline';
import { redisTransport } from 'hubline/redis';
import { type ScriptEntry, scriptedProvider } from 'hubline/testing';
import { startRedisServer } from '../redis-server.js';

/** Two services on one Redis, with a dashboard whose user may do everything. */
export interface OperatedShop {
  readonly handler: DashboardHandler;
  /** Id of a run with 400 elements of a map, of one that waits in a child run, and of an agent's run with 30 turns. */
  readonly ids: { readonly long: string; readonly nested: string; readonly turns: string };
  stop(): Promise<void>;
}

const actions = '/ops/hub-actions';
const orders = 120;
const turns = 30;
const shards = 400;

/** Starts a shop and its mail service: 63 event types, a stuck queue, failures in groups, long and nested runs, a pause. */
export async function startOperatedShop(): Promise<OperatedShop> {
  const redis = await startRedisServer();
  const create = (service: string, release: string): Hub =>
    createHub({ service, release, logger: false, transport: redisTransport({ url: redis.url, prefix: 'gallery' }) });
  const first = create('shop', '1.4.0');
  registerShop(first);
  await first.start();
  await first.stop();
  const shop = create('shop', '1.5.0');
  const mail = create('mail', '7f3a91c');
  registerShop(shop);
  registerMail(mail);
  await Promise.all([shop.start(), mail.start()]);
  for (let n = 1; n <= orders; n += 1) await shop.emit('order.created', { n });
  for (let n = 1; n <= 24; n += 1) await shop.startWorkflow('fulfil', { n });
  for (let n = 1; n <= 9; n += 1) await shop.emit('report.requested', { n });
  await shop.emit('newsletter.sent', {}, { delayMs: 3_600_000 });
  const long = await shop.startWorkflow('search.reindex', {});
  const nested = await shop.startWorkflow('checkout', {});
  const question = await shop.emit('ticket.opened', 'Where is my order?');
  await shop.pause({ type: 'refund.requested' }, { by: 'ada', reason: 'the bank is down until 14:00' });
  for (let n = 1; n <= 7; n += 1) await shop.emit('refund.requested', { n });
  await delay(6_000);
  await leaveLostProcess(shop);
  const act = createActionsHandler(shop, {
    basePath: actions,
    authorize: () => ({
      user: 'ada',
      can: ['replay', 'cancel', 'pause', 'resume', 'approve', 'erase', 'payload', 'audit'],
    }),
  });
  const dashboard = createDashboardHandler(shop, { actions });
  return {
    handler: (req, res) => (req.url?.startsWith(actions) === true ? act(req, res) : dashboard(req, res)),
    ids: { long: long.runId, nested: nested.runId, turns: question.id },
    async stop() {
      await Promise.all([shop.stop({ drainMs: 0 }), mail.stop({ drainMs: 0 })]);
      await redis.release();
    },
  };
}

/** Stores what a process that was killed 16 minutes ago leaves. */
async function leaveLostProcess({ transport: { kv, clock } }: Hub): Promise<void> {
  const key = 'hubline:processes';
  const { processes = [] } = Object(JSON.parse((await kv.get(key)) ?? '{}'));
  const lostAt = clock.now() - 16 * 60_000;
  const lost = { id: 'c41d09ab', service: 'shop', host: 'worker-7', pid: 4_711, release: '1.4.0', active: 3 };
  const entry = { ...lost, startedAt: lostAt - 7_200_000, seenAt: lostAt };
  await kv.set(key, JSON.stringify({ processes: [entry, ...processes] }));
}

function registerShop(hub: Hub): void {
  hub.event<{ n: number }>({
    type: 'order.created',
    onSuccess: 'payment.requested',
    handler: ({ payload }) => payload,
  });
  hub.event<{ n: number }>({
    type: 'payment.requested',
    retry: { maxAttempts: 2, initialDelayMs: 50 },
    onSuccess: 'payment.captured',
    onFailure: 'payment.declined',
    handler({ payload: { n } }) {
      if (n % 9 === 0) throw new FatalError(`card of order ${n} declined by the bank`);
      if (n % 31 === 0) throw new TypeError(`no amount in order "${n}"`);
      return { n };
    },
  });
  hub.event({ type: 'payment.captured', onSuccess: 'invoice.sent', handler: ({ payload }) => payload });
  hub.event({ type: 'payment.declined', handler: () => {} });
  // Takes one event at a time, for longer than the events take to arrive.
  hub.event({ type: 'report.requested', concurrency: 1, handler: ({ signal }) => untilAborted(signal) });
  hub.event({ type: 'refund.requested', handler: () => {} });
  hub.event({ type: 'newsletter.sent', handler: () => {} });
  hub.event({ type: 'parcel.scanned' });
  // The mail service handles it.
  hub.event({ type: 'invoice.sent' });
  for (let n = 0; n < 48; n += 1) {
    hub.event({
      type: `${['audit', 'cart', 'search', 'stock'][n % 4]}.${names[n % names.length]}${n}`,
      handler: () => {},
    });
  }
  registerWorkflows(hub);
  registerSupport(hub);
  hub.schedule({ name: 'nightly.export', cron: '0 3 * * *', emit: 'report.requested', payload: {} });
  hub.schedule({ name: 'stock.count', everyMs: 900_000, start: 'checkout', payload: {} });
  hub.schedule({ name: 'heartbeat', everyMs: 2_000, emit: 'payment.captured', payload: { n: 0 } });
}

const names = ['recorded', 'updated', 'indexed', 'moved', 'cleared', 'counted'];

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
}

function registerWorkflows(hub: Hub): void {
  const label = createWorkflow({
    name: 'parcel.label',
    run: async ({ step }: RunCtx<{ n: number }>) => {
      await step.run('ask the carrier', () => delay(120));
      await step.waitForEvent('printed', 'parcel.scanned', { key: 'label', timeoutMs: 86_400_000 });
      return 'label';
    },
  });
  hub.workflow(label);
  hub.workflow(
    createWorkflow({
      name: 'fulfil',
      description: 'From the payment to the parcel at the door.',
      trigger: 'payment.captured',
      run: async ({ input: { n }, step }: RunCtx<{ n: number }>) => {
        await step.run('reserve the goods', () => delay(5 + (n % 7)));
        await Promise.all([
          step.run('pack', () => delay(20)),
          step.map('weigh', [1, 2, 3], (kilos) => kilos),
          step.run('print the invoice', () => {
            if (n % 8 === 3) throw new FatalError(`printer ${n} is out of paper`);
          }),
        ]);
        if (n % 5 === 0)
          await step.waitForEvent('scanned', 'parcel.scanned', { key: `parcel ${n}`, timeoutMs: 86_400_000 });
        if (n % 3 === 0) await step.sleep('cool down', 3_600_000);
        await step.run('hand over', () => delay(3));
        return 'delivered';
      },
    }),
  );
  hub.workflow(
    createWorkflow({
      name: 'search.reindex',
      run: async ({ step }) => {
        const list = await step.run('list the shards', () => Array.from({ length: shards }, (_, n) => n));
        await step.map('reindex shard', list, (n) => delay(10 + (n % 40)), { concurrency: 40 });
        await step.sleep('settle', 1_500);
        await step.run('swap the alias', () => delay(40));
      },
    }),
  );
  hub.workflow(
    createWorkflow({
      name: 'checkout',
      run: async ({ step }) => {
        await step.run('validate', () => delay(30));
        await step.invoke('fulfil the order', 'fulfil', { n: 4 });
        await step.invoke('book the label', label, { n: 4 });
      },
    }),
  );
}

function registerSupport(hub: Hub): void {
  const usage = { promptTokens: 1_640, completionTokens: 212, totalTokens: 1_852, cachedTokens: 1_024 };
  const call = (name: string, order: number): ScriptEntry => ({ toolCalls: [{ name, arguments: { order } }], usage });
  const parameters = { type: 'object' };
  const tool = (name: string) => createTool({ name, description: name, parameters, execute: () => delay(15) });
  const agent = createAgent({
    name: 'support',
    description: 'Answers tickets of customers.',
    systemPrompt: 'Help.',
    model: { model: 'small-1' },
    maxIterations: 2 * turns,
    prices: { 'small-1': { input: 1, output: 4 } },
    provider: scriptedProvider([
      ...Array.from({ length: turns }, (_, n) => call(n % 3 === 0 ? 'search_the_docs' : 'find_order', n)),
      { content: 'It arrives on Monday.', usage },
    ]),
    tools: [tool('find_order'), tool('search_the_docs')],
  });
  hub.event({ type: 'ticket.opened', handler: agent.asHandler() });
}

function registerMail(hub: Hub): void {
  hub.event({
    type: 'invoice.sent',
    onComplete: 'mail.archived',
    handler({ payload }) {
      if (Number(Object(payload).n) % 17 === 5) throw new FatalError('mailbox is full');
    },
  });
  hub.event({ type: 'mail.archived', handler: () => {} });
  hub.event({ type: 'mail.bounced', handler: () => {} });
}
