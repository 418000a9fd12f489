import { createServer } from 'node:http';
import { createHub } from 'hubline';
import { redisTransport } from 'hubline/redis';
import { orderPlaced } from './definitions.js';

const { REDIS_URL: url = 'redis://127.0.0.1:6379', PORT: port = '8080' } = process.env;

const hub = createHub({ service: 'orders', transport: redisTransport({ url }) });
hub.event(orderPlaced, { handler: ({ payload }) => console.log(`packing ${payload.id}`) });

const probes = createServer(async (request, response) => {
  // Alive if the event loop answers: a restart would not bring back a Redis that is away.
  const isLive = request.url === '/live';
  const { isReady, reason = 'ready' } = isLive ? { isReady: true } : await hub.ready();
  response.writeHead(isReady ? 200 : 503).end(`${reason}\n`);
});
probes.listen(Number(port), () => console.log(`http://127.0.0.1:${port}/ready`));

await hub.start();
process.once('SIGTERM', async () => {
  await hub.stop({ drainMs: 20_000 });
  probes.close();
});
