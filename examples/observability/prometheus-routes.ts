import express from 'express';
import { Hono } from 'hono';
import { createHub, prometheus } from 'hubline';

const hub = createHub();
hub.event({ type: 'card.charged', handler: () => {} });
await hub.start();
const metrics = prometheus(hub);

export const expressApp = express();
expressApp.get('/metrics', async (_req, res) => void res.type(metrics.contentType).send(await metrics.read()));

export const honoApp = new Hono();
honoApp.get('/metrics', async (c) => c.body(await metrics.read(), 200, { 'content-type': metrics.contentType }));
