/**
 * A user's program that imports every entry point of the package. Its arguments are the URLs of a Redis and a Postgres
 * server.
 *
 * @module
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createHub, type Hub } from 'hubline';
import { type AgentHandlerResult, createAgent } from 'hubline/agents';
import { createDashboardHandler } from 'hubline/dashboard';
import { postgresTransport } from 'hubline/postgres';
import { redisTransport } from 'hubline/redis';
import { sqliteTransport } from 'hubline/sqlite';
import { scriptedProvider } from 'hubline/testing';
import { systemClock } from 'hubline/transport';

const [url, connectionString] = process.argv.slice(2);
if (url === undefined || connectionString === undefined) throw new Error('the URLs of Redis and Postgres are missing');

const timeLimit = systemClock.after(300_000, () => process.exit(1));
const hub: Hub = createHub({ service: 'consumer', transport: redisTransport({ url }) });
const agent = createAgent({
  name: 'greeter',
  systemPrompt: 'You greet.',
  model: { model: 'rehearsed' },
  provider: scriptedProvider(['Hello, Ada!']),
});
const greeted = new Promise<string>((resolve) => {
  const visitorGreeted = hub.event<AgentHandlerResult>({
    type: 'visitor.greeted',
    handler: ({ payload }) => resolve(payload.output),
  });
  hub.event({ type: 'visitor.came', key: String, handler: agent.asHandler(), onSuccess: visitorGreeted });
});
const counter = createAgent<{ count: number }>({
  name: 'counter',
  systemPrompt: 'You count.',
  model: { model: 'rehearsed' },
  provider: scriptedProvider(['{"count": 3}']),
  outputSchema: { type: 'object', properties: { count: { type: 'number' } }, required: ['count'] },
});
const counted = await counter.run('Count the guests.');
if (counted.status !== 'completed') throw new Error(counted.status, { cause: counted.error });
const count: number = counted.data.count;

await hub.start();
await hub.emit('visitor.came', 'I am Ada');

const server = createServer(createDashboardHandler(hub)).listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
if (address === null || typeof address === 'string') throw new Error('a TCP server has an address with a port');
const page = await fetch(`http://127.0.0.1:${address.port}/`);
const { kv } = createHub({ transport: sqliteTransport({ file: 'consumer.db' }) }).transport;
await kv.set('visitor', 'Ada');
const shop = createHub({ service: 'shop', transport: postgresTransport({ connectionString }) });
const shipped = new Promise<string>((resolve) => {
  shop.event<string>({ type: 'order.shipped', handler: ({ payload }) => resolve(payload) });
});
await shop.start();
await shop.emit('order.shipped', 'A-1');
console.log(
  JSON.stringify({
    count,
    greeting: await greeted,
    page: await page.text(),
    stored: await kv.get('visitor'),
    shipped: await shipped,
  }),
);
await shop.stop();
server.closeAllConnections();
server.close();
await hub.stop();
timeLimit.cancel();
