import { createServer } from 'node:http';
import { createDashboardHandler, createHub } from 'hubline';

const hub = createHub();
hub.event({ type: 'order.created', handler: ({ eventId }) => console.log(eventId) });
await hub.start();

// Your application creates a session at its login, and stores it with the user's role.
const sessions = new Map([['4b1f9e', { role: 'operator' }]]);

const sessionOf = (cookies = ''): { role: string } | undefined =>
  sessions.get(/(?:^|;\s*)session=([^;]*)/.exec(cookies)?.[1] ?? '');

const dashboard = createDashboardHandler(hub, {
  allowedHosts: ['127.0.0.1', 'localhost'],
  authorize: (req) => sessionOf(req.headers.cookie)?.role === 'operator',
  onUnauthorized(req, res) {
    // The page's requests for JSON get the 401.
    if (req.url === '/') res.writeHead(303, { location: '/login' }).end();
  },
});
const server = createServer((req, res) => {
  if (req.url === '/login') res.end('Log in');
  else dashboard(req, res);
});
const port = Number(process.env['PORT'] ?? 4000);
server.listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/`));
process.once('SIGTERM', () => hub.stop().then(() => process.exit(0)));
