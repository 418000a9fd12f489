import { createServer } from 'node:http';
import { createHub, prometheus } from 'hubline';

const hub = createHub();
hub.event<{ card: string }>({
  type: 'card.charged',
  retry: { maxAttempts: 2, initialDelayMs: 0 },
  handler({ payload }) {
    if (payload.card === 'stolen') throw new Error('declined');
  },
});
await hub.start();
for (const card of ['ada', 'bob', 'stolen']) await hub.emit('card.charged', { card });

const metrics = prometheus(hub);
const port = Number(process.env['PORT'] ?? 4000);
createServer((req, res) => {
  if (req.url !== '/metrics') return void res.writeHead(404).end();
  metrics.read().then(
    (text) => res.writeHead(200, { 'content-type': metrics.contentType }).end(text),
    (error: unknown) => {
      console.error(error);
      res.writeHead(503).end();
    },
  );
}).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/metrics`));
process.once('SIGTERM', () => hub.stop().then(() => process.exit(0)));
