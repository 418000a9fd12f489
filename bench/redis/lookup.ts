import { randomUUID } from 'node:crypto';
import { createDashboardFetch, createHub, type Hub } from '../../dist/index.js';
import { redisTransport } from '../../dist/transports/redis/index.js';
import { startRedisServer } from '../../scripts/redis-server.js';
import { inBatches } from '../measuring/batches.js';
import { median } from '../measuring/measure.js';
import type { Row } from '../measuring/row.js';

const types = 1_000;
const eventsPerType = 100;
const eventsPerRequest = 5;
const lookUpsPerRound = 200;
const rounds = 5;

/** Measures a lookup of one id and of one request over the dashboard's routes, with 1,000 types on Redis. */
export async function lookUp(): Promise<Row[]> {
  const server = await startRedisServer();
  const { url } = server;
  const prefix = randomUUID();
  const hub = createHub({ service: 'shop', transport: redisTransport({ url, prefix }) });
  const observer = createHub({ transport: redisTransport({ url, prefix }), observer: true });
  try {
    const names = Array.from({ length: types }, (_, n) => `type ${n}`);
    let handled = 0;
    const count = (): void => {
      handled += 1;
    };
    for (const type of names) hub.event({ type, handler: count });
    await hub.start();
    await observer.start();
    const sent: { readonly type: string; readonly id: string; readonly requestId: string }[] = [];
    await inBatches(types * eventsPerType, async (index) => {
      const type = names[index % types] ?? '';
      const requestId = `request ${Math.floor(index / eventsPerRequest)}`;
      const { id } = await hub.emit(type, { index }, { requestId });
      // One of each of the newest requests: a response is shared while nothing changes, so each is asked for once.
      const isLookedUp = index >= types * eventsPerType - lookUpsPerRound * rounds * eventsPerRequest;
      if (isLookedUp && index % eventsPerRequest === 0) sent.push({ type, id, requestId });
    });
    while (handled < types * eventsPerType) await new Promise((resolve) => setTimeout(resolve, 50));
    const paths = {
      'an event by its id': sent.map(
        ({ type, id }) => `/api/events/${encodeURIComponent(type)}?id=${encodeURIComponent(id)}`,
      ),
      [`the ${eventsPerRequest} events of a request`]: sent.map(
        ({ requestId }) => `/api/introspection?request=${encodeURIComponent(requestId)}`,
      ),
    };
    const rows: Row[] = [];
    for (const [name, all] of Object.entries(paths)) {
      const perRound: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const durations: number[] = [];
        for (const path of all.slice(round * lookUpsPerRound, (round + 1) * lookUpsPerRound)) {
          // Each handler limits the look-ups per second.
          const dashboard = createDashboardFetch(observer);
          const startedAt = performance.now();
          const response = await dashboard(new Request(`http://localhost${path}`));
          await response.arrayBuffer();
          durations.push(performance.now() - startedAt);
          if (response.status !== 200) throw new Error(`${path} answered ${response.status}`);
        }
        perRound.push(percentile95(durations));
      }
      rows.push({
        scenario: `Redis: look up ${name} among ${types.toLocaleString('en')} types, 95th percentile`,
        unit: 'ms',
        hubline: median(perRound),
        target: { of: 'figure', limit: 'at most', value: 20 },
      });
    }
    return [...rows, ...(await unknownIds(url))];
  } finally {
    await observer.stop();
    await hub.stop({ drainMs: 0 });
    await server.release();
  }
}

function percentile95(durations: readonly number[]): number {
  return [...durations].sort((a, b) => a - b)[Math.floor(durations.length * 0.95)] ?? 0;
}

const fewSubscriptions = 10;
const manySubscriptions = 4_000;
const unknownPerRound = 500;

/** Measures a look-up of an id that no event has, with few and with many subscriptions, in turns. */
async function unknownIds(url: string): Promise<Row[]> {
  const hubs = await Promise.all([fewSubscriptions, manySubscriptions].map((count) => subscribed(url, count)));
  const perRound: number[][] = hubs.map(() => []);
  for (let round = 0; round < 2 * rounds; round += 1) {
    for (const [index, hub] of hubs.entries()) {
      const startedAt = performance.now();
      for (let n = 0; n < unknownPerRound; n += 1) await hub.find(randomUUID());
      perRound[index]?.push(((performance.now() - startedAt) / unknownPerRound) * 1_000);
    }
  }
  for (const hub of hubs) await hub.stop({ drainMs: 0 });
  const [few = 0, many = 0] = perRound.map(median);
  return [
    {
      scenario: `Redis: look up an unknown id among ${manySubscriptions.toLocaleString('en')} subscriptions`,
      unit: 'us',
      hubline: many,
      peer: { name: `among ${fewSubscriptions}`, figure: few },
      target: { of: 'ratio', limit: 'at most', value: 1.1 },
    },
  ];
}

async function subscribed(url: string, subscriptions: number): Promise<Hub> {
  const hub = createHub({ service: 'shop', transport: redisTransport({ url, prefix: randomUUID() }) });
  for (let n = 0; n < subscriptions; n += 1) hub.event({ type: `type ${n}`, handler: () => {} });
  await hub.start();
  return hub;
}
