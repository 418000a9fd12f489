/** Worker process of the shop: `worker.ts <redis url> <orders per second>`, started by `shopInWorkers`. */
import { redisTransport } from 'hubline/redis';
import { createShop } from './shop.js';
import { startTraffic } from './traffic.js';

const [url = 'redis://127.0.0.1:6379', rate = '1'] = process.argv.slice(2);
const hub = createShop(redisTransport({ url, prefix: 'shop' }));
await hub.start();
const traffic = startTraffic(hub, Number(rate), (error) => console.error(error), `W${process.pid}`);

let isStopping = false;
const stop = async (): Promise<void> => {
  if (isStopping) return;
  isStopping = true;
  traffic.stop();
  await hub.stop({ drainMs: 1_000 });
  process.exit(0);
};
process.on('SIGINT', () => void stop());
process.on('SIGTERM', () => void stop());
// The demo ends with its parent process.
process.on('disconnect', () => void stop());
