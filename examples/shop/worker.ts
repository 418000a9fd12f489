/**
 * Worker process of the shop: `worker.ts <store> <orders per second> <url of the courier>`, started by `shopInWorkers`.
 * The store is a URL of Redis or of Postgres, or a file.
 */
import { connectCourier } from './courier/courier.js';
import { sharedTransport } from './shared-transport.js';
import { createShop } from './shop.js';
import { startTraffic } from './traffic.js';

const [store = 'redis://127.0.0.1:6379', rate = '1', courierUrl = ''] = process.argv.slice(2);
const token = process.env['COURIER_TOKEN'] ?? '';
const courier = courierUrl === '' ? undefined : await connectCourier({ url: courierUrl, token });
const hub = createShop({ transport: sharedTransport(store), ...(courier && { courierTools: courier.tools }) });
await hub.start();
process.send?.('started');
const traffic = startTraffic(hub, Number(rate), (error) => console.error(error), `W${process.pid}`);

let isStopping = false;
const stop = async (): Promise<void> => {
  if (isStopping) return;
  isStopping = true;
  traffic.stop();
  await hub.stop({ drainMs: 1_000 });
  await courier?.close();
  process.exit(0);
};
process.on('SIGINT', () => void stop());
process.on('SIGTERM', () => void stop());
// The demo ends with its parent process.
process.on('disconnect', () => void stop());
