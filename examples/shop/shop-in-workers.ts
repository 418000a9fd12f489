import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createHub } from 'hubline';
import { redisTransport } from 'hubline/redis';
import type { CourierServer } from './courier/courier-server.js';
import type { RunningShop } from './shop-in-this-process.js';

const workers = 3;

/**
 * Creates a shop that runs in worker processes; this process only shows the dashboard. Kill a worker with
 * `kill -9`: the others take over its events.
 *
 * @param rate orders per second, over all workers
 */
export function shopInWorkers(url: string, rate: number, courier: CourierServer): RunningShop {
  const hub = createHub({ service: 'dashboard', transport: redisTransport({ url, prefix: 'shop' }), observer: true });
  const children = new Set<ReturnType<typeof fork>>();
  let isStopping = false;
  return {
    hub,
    async start() {
      await hub.start();
      for (let i = 0; i < workers; i += 1) {
        const child = fork(new URL('worker.ts', import.meta.url), [url, String(rate / workers), courier.url], {
          // Arguments of a process are visible to all users of the machine.
          env: { ...process.env, COURIER_TOKEN: courier.token },
        });
        children.add(child);
        child.once('exit', () => {
          children.delete(child);
          if (!isStopping) console.log(`Worker ${child.pid} ended; the others continue.`);
        });
        console.log(`Worker ${child.pid}`);
      }
    },
    async stop() {
      isStopping = true;
      const ended = [...children].map((child) => once(child, 'exit'));
      for (const child of children) child.kill('SIGTERM');
      await Promise.all(ended);
      await hub.stop();
    },
  };
}
