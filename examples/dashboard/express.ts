import express from 'express';
import { createDashboardHandler, createHub } from 'hubline';

const hub = createHub();
hub.event({ type: 'order.created', handler: ({ eventId }) => console.log(eventId) });
await hub.start();

const app = express();
const allowedHosts = ['127.0.0.1', 'localhost'];
app.use('/ops/hub', createDashboardHandler(hub, { allowedHosts }));

const port = Number(process.env['PORT'] ?? 4000);
app.listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/ops/hub`));
process.once('SIGTERM', () => hub.stop().then(() => process.exit(0)));
