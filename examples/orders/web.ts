import express, { type ErrorRequestHandler } from 'express';
import { createHub, SchemaValidationError, UnknownRunError, WorkflowFailedError } from 'hubline';
import { redisTransport } from 'hubline/redis';
import { z } from 'zod';
import { fulfil, order, orderPaid } from './definitions.js';

const { REDIS_URL: url = 'redis://127.0.0.1:6379', PORT = '4000' } = process.env;

const hub = createHub({ service: 'web', transport: redisTransport({ url }) });
await hub.start();

const app = express();
app.use(express.json());

app.post('/orders', async (req, res) => {
  const placed = order.parse(req.body);
  const { runId } = await hub.startWorkflow(fulfil, placed, { dedupeId: placed.id });
  res.status(202).location(`/orders/${runId}`).json({ runId });
});
app.get('/orders/:runId', async (req, res) => {
  const { status, steps } = await hub.getRun(fulfil, req.params.runId);
  res.json({ status, steps: steps.map(({ name, status }) => ({ name, status })) });
});
app.get('/orders/:runId/result', async (req, res) => {
  res.json(await hub.workflowHandle(fulfil, req.params.runId).result());
});
app.delete('/orders/:runId', async (req, res) => {
  res.json({ cancelled: await hub.workflowHandle(fulfil, req.params.runId).cancel('the customer cancelled') });
});
app.post('/payments', async (req, res) => {
  await hub.emit(orderPaid, req.body);
  res.status(202).end();
});

const respond: ErrorRequestHandler = (error, _req, res, next) => {
  if (error instanceof z.ZodError || error instanceof SchemaValidationError) res.status(400).end();
  else if (error instanceof UnknownRunError) res.status(404).end();
  else if (error instanceof WorkflowFailedError) res.status(409).json({ error: error.failure.name });
  else next(error);
};
app.use(respond);

const server = app.listen(Number(PORT), '127.0.0.1', () => console.log(`http://127.0.0.1:${PORT}`));
process.once('SIGTERM', () => {
  server.close(() => hub.stop().then(() => process.exit(0)));
});
