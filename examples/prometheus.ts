import { createServer } from 'node:http';
import { createHub, type Hub } from 'hubline';
import { Counter, Gauge, Registry } from 'prom-client';

/** Returns a function that writes the hub's counts in the Prometheus text format. On Redis they cover all processes. */
export function createHubMetrics(hub: Hub): () => Promise<string> {
  const registry = new Registry();
  const of = (name: string, help: string) => ({ name, help, labelNames: ['kind', 'name'], registers: [registry] });
  const received = new Counter(of('hubline_received_total', 'Events and runs accepted'));
  const completed = new Counter(of('hubline_completed_total', 'Events and runs that completed'));
  const failed = new Counter(of('hubline_failed_total', 'Events and runs that failed'));
  const retried = new Counter(of('hubline_retried_total', 'Failed attempts that were retried'));
  const pending = new Gauge(of('hubline_pending', 'Events and runs that are accepted and have not ended'));
  const active = new Gauge(of('hubline_active', 'Events and runs that run now'));

  return async () => {
    const { events, workflows } = await hub.introspect();
    // No await between reset and the last inc: concurrent scrapes must not add up.
    registry.resetMetrics();
    for (const { kind, name, metrics } of [
      ...events.map(({ type, metrics }) => ({ kind: 'event', name: type, metrics })),
      ...workflows.map(({ name, metrics }) => ({ kind: 'workflow', name, metrics })),
    ]) {
      received.inc({ kind, name }, metrics.received);
      completed.inc({ kind, name }, metrics.completed);
      failed.inc({ kind, name }, metrics.failed);
      retried.inc({ kind, name }, metrics.retried);
      pending.set({ kind, name }, metrics.pending);
      active.set({ kind, name }, metrics.active);
    }
    return registry.metrics();
  };
}

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

const readMetrics = createHubMetrics(hub);
const port = Number(process.env['PORT'] ?? 4000);
createServer((req, res) => {
  if (req.url !== '/metrics') return void res.writeHead(404).end();
  readMetrics().then(
    (text) => res.writeHead(200, { 'content-type': Registry.PROMETHEUS_CONTENT_TYPE }).end(text),
    (error: unknown) => res.writeHead(503).end(String(error)),
  );
}).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/metrics`));
process.once('SIGTERM', () => hub.stop().then(() => process.exit(0)));
