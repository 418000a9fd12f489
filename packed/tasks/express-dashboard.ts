import { once } from 'node:events';
import express from 'express';
import { basicAuth, createDashboardHandler, createHub } from 'hubline';

// Refusals are logged.
const hub = createHub({ logger: false });
hub.event({ type: 'order.placed', handler: () => {} });
await hub.start();
await hub.emit('order.placed', {});
const app = express();
app.use('/ops/hub', createDashboardHandler(hub, basicAuth({ user: 'admin', password: 'teapots' })));
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/ops/hub`;
const headers = { authorization: `Basic ${Buffer.from('admin:teapots').toString('base64')}` };
const page = await fetch(url, { headers });
const type = await (await fetch(`${url}/api/events/order.placed`, { headers })).text();
console.log((await fetch(url)).status, page.status, page.headers.get('content-type'), /"received":1\b/.test(type));
server.close();
server.closeAllConnections();
await hub.stop();
