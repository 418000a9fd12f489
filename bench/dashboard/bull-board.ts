import { createServer, type RequestListener } from 'node:http';
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { ExpressAdapter } from '@bull-board/express';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { createDashboardHandler, createHub } from '../../dist/index.js';
import { redisTransport } from '../../dist/transports/redis/index.js';
import { listenLocally } from '../../scripts/listen-locally.js';
import { startRedisServer } from '../../scripts/redis-server.js';
import { compare } from '../measuring/measure.js';
import { withVersion } from '../measuring/peer-version.js';
import type { Row } from '../measuring/row.js';
import { openLoad } from './http-load.js';

const count = 100;
const name = (n: number): string => `event ${n}`;

/** Measures the overview of 100 types next to bull-board with 100 queues, on the same Redis. */
export async function bullBoard(): Promise<Row[]> {
  const redis = await startRedisServer();
  const hub = createHub({ service: 'bench', transport: redisTransport({ url: redis.url }) });
  for (let n = 0; n < count; n += 1) hub.event({ type: name(n), handler: () => {} });
  await hub.start();
  const dashboardPort = await listenLocally(createServer(createDashboardHandler(hub)));

  const connection = new Redis(redis.url, { maxRetriesPerRequest: null });
  const queues = Array.from({ length: count }, (_, n) => new Queue(name(n), { connection }));
  const adapter = new ExpressAdapter();
  createBullBoard({ queues: queues.map((queue) => new BullMQAdapter(queue)), serverAdapter: adapter });
  // A router is a request listener, although Express's types do not say so.
  const boardPort = await listenLocally(createServer(adapter.getRouter() as RequestListener));

  const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n`;
  const own = await openLoad(dashboardPort, get('/api/introspection'));
  const other = await openLoad(boardPort, get(`/api/queues?activeQueue=${encodeURIComponent(name(0))}`));
  const rows = await compare({
    scenario: `the overview of ${count} types, on Redis`,
    unit: 'requests/s',
    times: 64,
    hubline: own.run,
    peers: [{ name: withVersion('@bull-board/express'), run: other.run }],
  });
  for (const load of [own, other]) load.close();
  await hub.stop();
  await Promise.all(queues.map((queue) => queue.close()));
  await redis.release();
  return rows;
}
