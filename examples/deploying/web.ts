import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { createHub, SchemaValidationError } from 'hubline';
import { redisTransport } from 'hubline/redis';
import { z } from 'zod';
import { order, orderPlaced } from './definitions.js';

const { REDIS_URL: url = 'redis://127.0.0.1:6379', PORT = '4000' } = process.env;

const hub = createHub({ service: 'web', transport: redisTransport({ url }) });
await hub.start();

const server = createServer(async (req, res) => {
  try {
    const placed = order.parse(await json(req));
    const { id } = await hub.emit(orderPlaced, placed, { dedupeId: placed.id });
    res.writeHead(202).end(id);
  } catch (error) {
    const isInvalid = [SyntaxError, z.ZodError, SchemaValidationError].some((kind) => error instanceof kind);
    res.writeHead(isInvalid ? 400 : 503).end();
  }
});
server.listen(Number(PORT), '127.0.0.1', () => console.log(`http://127.0.0.1:${PORT}/`));
process.once('SIGTERM', () => {
  server.close(() => hub.stop().then(() => process.exit(0)));
});
