/**
 * Development server of the page: Vite with hot reload of `ui/`, in front of a demo shop.
 *
 * @module
 */
import { createServer as createApiServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { createDashboardHandler } from 'hubline/dashboard';
import { createServer as createPageServer } from 'vite';
import { listenOn } from '../examples/shop/listen.js';
import { createShop } from '../examples/shop/shop.js';
import { startTraffic } from '../examples/shop/traffic.js';

const ordersPerSecond = 5;

const shop = createShop();
const target = await listenOn(
  createApiServer(createDashboardHandler(shop, { allowedHosts: ['127.0.0.1', 'localhost'] })),
  0,
);
await shop.start();
startTraffic(shop, ordersPerSecond, console.error);

const pageServer = await createPageServer({
  configFile: fileURLToPath(new URL('../ui/vite.config.ts', import.meta.url)),
  server: { proxy: { '/api': target } },
});
await pageServer.listen();
pageServer.printUrls();
