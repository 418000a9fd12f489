import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import { createHub } from 'hubline';

const hub = createHub({ service: 'orders' });
const packed = new EventEmitter();
hub.event({ type: 'order.placed', handler: () => once(packed, 'packed') });
const probes = createServer(async (_request, response) => {
  const { isReady, reason = 'ready' } = await hub.ready();
  response.writeHead(isReady ? 200 : 503).end(reason);
});
await new Promise<void>((resolve) => probes.listen(0, '127.0.0.1', resolve));
const address = probes.address();
const ask = async (): Promise<string> => {
  const response = await fetch(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/ready`);
  return `${response.status} ${await response.text()}`;
};
console.log(await ask());
await hub.start();
console.log(await ask());
await hub.emit('order.placed', {});
while ((await hub.metrics('order.placed')).active === 0) await new Promise((resolve) => setTimeout(resolve, 5));
process.once('SIGTERM', async () => {
  const stopped = hub.stop({ drainMs: 20_000 });
  console.log(await ask());
  packed.emit('packed');
  console.log(JSON.stringify(await stopped));
  probes.close();
  probes.closeAllConnections();
});
process.kill(process.pid, 'SIGTERM');
