import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { createDashboardHandler, createHub } from 'hubline';

const { DASHBOARD_PASSWORD: password = '', PORT = '4000' } = process.env;
if (password === '') throw new Error('set DASHBOARD_PASSWORD, the password of the user "admin"');

const hub = createHub();
hub.event({ type: 'order.created', handler: ({ eventId }) => console.log(eventId) });
await hub.start();

// Digests have equal length, so the comparison takes the same time for every input.
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
const expected = digest(`Basic ${Buffer.from(`admin:${password}`).toString('base64')}`);
const dashboard = createDashboardHandler(hub, {
  allowedHosts: ['127.0.0.1', 'localhost'],
  authorize: (req) => timingSafeEqual(digest(req.headers.authorization ?? ''), expected),
});
const server = createServer((req, res) => {
  res.setHeader('WWW-Authenticate', 'Basic realm="hub", charset="UTF-8"');
  dashboard(req, res);
});
server.listen(Number(PORT), '127.0.0.1', () => console.log(`http://127.0.0.1:${PORT}/`));
process.once('SIGTERM', () => hub.stop().then(() => process.exit(0)));
