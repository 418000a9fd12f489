/**
 * A user's program that imports every entry point of the package. Its argument is the URL of a Redis server.
 *
 * @module
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createHub, type Hub } from 'hubline';
import { type AgentRunResult, createAgent } from 'hubline/agents';
import { createDashboardHandler } from 'hubline/dashboard';
import { redisTransport } from 'hubline/redis';
import { sqliteTransport } from 'hubline/sqlite';
import { scriptedProvider } from 'hubline/testing';
import { systemClock } from 'hubline/transport';

const url = process.argv[2];
if (url === undefined) throw new Error('the URL of a Redis is missing');

const timeLimit = systemClock.after(60_000, () => process.exit(1));
const hub: Hub = createHub({ service: 'consumer', transport: redisTransport({ url }) });
const agent = createAgent({
  name: 'greeter',
  systemPrompt: 'You greet.',
  model: { model: 'rehearsed' },
  provider: scriptedProvider(['Hello, Ada!']),
});
hub.event({ type: 'visitor.came', handler: agent.asHandler(), onSuccess: 'visitor.greeted' });
const greeted = new Promise<string>((resolve) => {
  hub.event<AgentRunResult>({ type: 'visitor.greeted', handler: ({ payload }) => resolve(payload.output) });
});
await hub.start();
await hub.emit('visitor.came', 'I am Ada');

const server = createServer(createDashboardHandler(hub)).listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
if (address === null || typeof address === 'string') throw new Error('a TCP server has an address with a port');
const page = await fetch(`http://127.0.0.1:${address.port}/`);
const { kv } = createHub({ transport: sqliteTransport({ file: 'consumer.db' }) }).transport;
await kv.set('visitor', 'Ada');
console.log(JSON.stringify({ greeting: await greeted, page: await page.text(), stored: await kv.get('visitor') }));
server.closeAllConnections();
server.close();
await hub.stop();
timeLimit.cancel();
