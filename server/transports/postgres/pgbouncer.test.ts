import { Pool } from 'pg';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createHub } from '../../hub/create-hub.js';
import type { Hub } from '../../hub/hub.js';
import type { RunCtx } from '../../hub/runs/step.js';
import { createWorkflow } from '../../hub/runs/workflow.js';
import { contractStage } from '../contract/contract-stage.js';
import { describeCancel } from '../contract/events/cancel.js';
import { describeEvents } from '../contract/events/events.js';
import { describeKeys } from '../contract/events/keys.js';
import { describeOverlaps } from '../contract/events/overlaps.js';
import { describePauses } from '../contract/events/pauses.js';
import { describeConnections } from '../contract/processes/connections.js';
import { describeBoundedLog } from '../contract/records/bounded-log.js';
import { describeChildRuns } from '../contract/runs/child-runs.js';
import { describeInboxes } from '../contract/runs/inboxes.js';
import { describeOffers } from '../contract/runs/offers.js';
import { describeRuns } from '../contract/runs/runs.js';
import { describeRunsOfServices } from '../contract/runs/runs-of-services.js';
import { describeSchedules } from '../contract/runs/schedules.js';
import { describeSuspensions } from '../contract/runs/suspensions.js';
import type { PostgresTransportOptions } from './postgres-options.js';
import { startTestPostgres } from './postgres-stage.fixture.js';
import { postgresTransport } from './postgres-transport.js';

const longMs = 600_000;
const [inTransactions, inSessions] = [await startTestPostgres('transaction'), await startTestPostgres('session')];

describe('postgres transport behind PgBouncer in transaction mode', () => {
  const stage = contractStage(() => inTransactions.harness({ pollIntervalMs: 50 }));
  describeEvents(stage);
  describeKeys(stage);
  describeOverlaps(stage);
  describePauses(stage);
  describeCancel(stage);
  describeConnections(stage);
  describeRuns(stage);
  describeSuspensions(stage);
  describeChildRuns(stage);
  describeRunsOfServices(stage);
  describeInboxes(stage);
  describeOffers(stage);
  describeSchedules(stage);
  describeBoundedLog(stage);
});

const pools = new Map(
  [inTransactions, inSessions].map(({ url }) => [url, new Pool({ connectionString: url, max: 20 })]),
);
afterAll(async () => {
  for (const pool of pools.values()) await pool.end();
});

function poolOf(url: string): Pool {
  const pool = pools.get(url);
  if (pool === undefined) throw new Error('no pool has this address');
  return pool;
}

async function startHub(
  url: string,
  register: (hub: Hub) => void,
  options: Omit<PostgresTransportOptions, 'pool'>,
  warn: (details: object, message: string) => void = () => {},
): Promise<Hub> {
  const logger = { debug: () => {}, info: () => {}, warn, error: () => {} };
  const pool = pools.get(url);
  if (pool === undefined) throw new Error('no pool has this address');
  const hub = createHub({
    service: 'shop',
    logger,
    transport: postgresTransport({ pool, schema: 'hubs', ...options }),
  });
  register(hub);
  await hub.start();
  onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
  return hub;
}

const packing = createWorkflow({ name: 'packing', run: async ({ input }: RunCtx<string>) => `packed ${input}` });
const order = createWorkflow({
  name: 'order',
  run: async ({ input, step }: RunCtx<string>) => [
    await step.invoke('first', packing, `${input} 1`),
    await step.invoke('second', packing, `${input} 2`),
  ],
});
const delivery = createWorkflow({
  name: 'delivery',
  run: async ({ step }: RunCtx<null>): Promise<unknown> => {
    await step.publish('on its way');
    return step.waitForEvent('arrived', 'arrived');
  },
});

test('in transaction mode a process sees at once what it does itself, and logs once that it polls', async () => {
  const warnings: string[] = [];
  const hub = await startHub(
    inTransactions.url,
    (shop) => {
      shop.workflow(packing);
      shop.workflow(order);
      shop.event({ type: 'placed', handler: ({ emit }) => emit('billed', {}) });
      shop.event({ type: 'billed', handler: () => {} });
    },
    { pollIntervalMs: longMs },
    (_, message) => warnings.push(message),
  );
  const run = await hub.startWorkflow(order, 'tea');
  expect(await run.result()).toEqual(['packed tea 1', 'packed tea 2']);
  const polls = (): string[] => warnings.filter((message) => message.includes('PgBouncer in transaction mode'));
  await vi.waitUntil(() => polls().length > 0, { timeout: 60_000 });
  await hub.emit('placed', {});
  await expect.poll(async () => (await hub.metrics('billed')).completed).toBe(1);
  expect(polls()).toHaveLength(1);
});

test('in transaction mode cancels, transactions, changes and output are seen at the next poll', async () => {
  const { url } = inTransactions;
  const options = { pollIntervalMs: 50 };
  const reasons: unknown[] = [];
  let started = (): void => {};
  const isStarted = new Promise<void>((resolve) => {
    started = resolve;
  });
  const hub = await startHub(
    url,
    (shop) => {
      shop.workflow(delivery);
      shop.event({ type: 'arrived' });
      shop.event({
        type: 'endless',
        handler: ({ signal }) =>
          new Promise<void>((resolve) => {
            signal.addEventListener('abort', () => {
              reasons.push(signal.reason);
              resolve();
            });
            started();
          }),
      });
      shop.event({ type: 'charged', handler: ({ transaction }) => transaction((tx) => tx.query('SELECT 1')) });
    },
    options,
  );
  const web = await startHub(
    url,
    (shop) => {
      for (const type of ['endless', 'charged', 'arrived']) shop.event({ type });
    },
    options,
  );
  const { id } = await web.emit('endless', {});
  await isStarted;
  await web.cancel(id);
  await expect.poll(() => reasons).toMatchObject([{ name: 'CancelledError' }]);

  const client = await poolOf(url).connect();
  await client.query('BEGIN');
  await web.emit('charged', {}, { tx: client });
  await client.query('COMMIT');
  client.release();
  await expect.poll(async () => (await web.metrics('charged')).completed).toBe(1);

  const run = await hub.startWorkflow(delivery, null);
  const steps: string[] = [];
  for await (const event of hub.watch(run.runId)) {
    if (event.type === 'step') steps.push(`${event.step.name} ${event.step.status}`);
    if (steps.at(-1) === 'arrived waiting') await web.emit('arrived', 'noon');
  }
  expect(steps).toContain('arrived completed');
  expect(await run.result()).toBe('noon');
  const output: unknown[] = [];
  for await (const event of hub.stream(run.runId)) if (event.type === 'data') output.push(event.data);
  expect(output).toEqual(['on its way']);
});

test('in session mode notifications arrive', async () => {
  const handled: unknown[] = [];
  const { url } = inSessions;
  const options = { pollIntervalMs: longMs };
  await startHub(
    url,
    (shop) => shop.event({ type: 'placed', handler: ({ payload }) => void handled.push(payload) }),
    options,
  );
  const web = await startHub(url, (shop) => shop.event({ type: 'placed' }), options);
  await web.emit('placed', 1);
  await vi.waitUntil(() => handled.length > 0, { timeout: 60_000 });
});
