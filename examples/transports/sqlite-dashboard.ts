import { createServer } from 'node:http';
import { createDashboardHandler, createHub } from 'hubline';
import { sqliteObserver } from 'hubline/sqlite';

const file = process.env['HUB_FILE'] ?? 'hub.db';
const port = Number(process.env['PORT'] ?? 4000);

const hub = createHub({ transport: sqliteObserver({ file }), observer: true });
await hub.start();
const dashboard = createDashboardHandler(hub, { allowedHosts: ['127.0.0.1', 'localhost'] });
createServer(dashboard).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/`));
process.once('SIGTERM', () => hub.stop().then(() => process.exit(0)));
