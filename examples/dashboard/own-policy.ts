import { createServer } from 'node:http';
import { createDashboardHandler, createHub, dashboardCspHashes, getDashboardHtml } from 'hubline';

const hub = createHub();
await hub.start();

const policy = [
  "default-src 'none'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  `script-src ${dashboardCspHashes.script.join(' ')}`,
  `style-src ${dashboardCspHashes.style.join(' ')}`,
].join('; ');
const allowedHosts = ['127.0.0.1', 'localhost'];
const dashboard = createDashboardHandler(hub, { basePath: '/ops/hub', allowedHosts });
const server = createServer((req, res) => {
  if (req.url !== '/ops/hub') return dashboard(req, res);
  res.setHeader('Content-Type', 'text/html; charset=utf-8');
  res.setHeader('Content-Security-Policy', policy);
  res.end(getDashboardHtml());
});

const port = Number(process.env['PORT'] ?? 4000);
server.listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/ops/hub`));
process.once('SIGTERM', () => hub.stop().then(() => process.exit(0)));
