import { createServer } from 'node:http';
import { basicAuth, createDashboardHandler, createHub } from 'hubline';

const { DASHBOARD_PASSWORD: password = '', PORT = '4000' } = process.env;

const hub = createHub();
hub.event({ type: 'order.created', handler: ({ eventId }) => console.log(eventId) });
await hub.start();

const dashboard = createDashboardHandler(hub, { ...basicAuth({ user: 'admin', password }) });
createServer(dashboard).listen(Number(PORT), '127.0.0.1', () => console.log(`http://127.0.0.1:${PORT}/`));
process.once('SIGTERM', () => hub.stop().then(() => process.exit(0)));
