import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createHub, type Hub } from '../../dist/index.js';
import { redisTransport } from '../../dist/transports/redis/index.js';
import { median } from '../measuring/measure.js';
import type { Row } from '../measuring/row.js';

const times = 200;

/** Milliseconds on a clock that all processes of the machine share. */
const machineMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Registers a handler that reports its start, and the time at which its signal aborts. */
export function registerEndless(hub: Hub): void {
  hub.event({
    type: 'endless',
    handler: ({ signal }) =>
      new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => {
          process.send?.(machineMs());
          resolve();
        });
        process.send?.('started');
      }),
  });
}

/** Measures the time from `hub.cancel` to the abort of a handler in another process. */
export async function cancelledHandler(url: string): Promise<Row[]> {
  const prefix = randomUUID();
  const worker = fork(fileURLToPath(new URL('./called-worker.ts', import.meta.url)), [url, prefix]);
  await once(worker, 'message');
  const web = createHub({ service: 'web', transport: redisTransport({ url, prefix }) });
  web.event({ type: 'endless' });
  await web.start();
  const waits: number[] = [];
  for (let n = 0; n < times; n += 1) {
    const started = once(worker, 'message');
    const { id } = await web.emit('endless', null);
    await started;
    const aborted = once(worker, 'message');
    const from = machineMs();
    await web.cancel(id);
    const [at] = await aborted;
    waits.push(Number(at) - from);
  }
  await web.stop();
  worker.disconnect();
  return [
    {
      scenario: 'Redis: cancel of a running handler, seen by it',
      unit: 'ms',
      hubline: median(waits),
      target: { of: 'figure', limit: 'at most', value: 50 },
    },
  ];
}
