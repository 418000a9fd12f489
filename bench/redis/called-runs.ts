import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createHub, createWorkflow, defineWorkflow, type Hub, type HubWorkflow } from '../../dist/index.js';
import { redisTransport } from '../../dist/transports/redis/index.js';
import { compare } from '../measuring/measure.js';
import type { Row } from '../measuring/row.js';

const called = defineWorkflow<number, number>({ name: 'called', service: 'worker' });
const times = 500;

/** Creates the workflow that both processes of the benchmark run. */
export function calledWorkflow(): HubWorkflow<number, number> {
  return createWorkflow(called, { run: ({ input, step }) => step.run('add', () => input + 1) });
}

/** Starts and awaits runs one after the other, in another process and in the same one. */
export async function calledRuns(url: string): Promise<Row[]> {
  const [own, other] = [randomUUID(), randomUUID()];
  const worker = fork(fileURLToPath(new URL('./called-worker.ts', import.meta.url)), [url, other]);
  await once(worker, 'message');
  const same = createHub({ service: 'worker', transport: redisTransport({ url, prefix: own }) });
  same.workflow(calledWorkflow());
  const web = createHub({ service: 'web', transport: redisTransport({ url, prefix: other }) });
  await Promise.all([same.start(), web.start()]);
  const callThrough =
    (hub: Hub) =>
    async (count: number): Promise<void> => {
      for (let n = 0; n < count; n += 1) await (await hub.startWorkflow(called, n)).result();
    };
  const rows = await compare({
    scenario: 'Redis: start and await a run of another process',
    unit: 'ms',
    times,
    figure: (rate) => 1_000 / rate,
    hubline: callThrough(web),
    peers: [
      { name: 'of the same process', run: callThrough(same), target: { of: 'ratio', limit: 'at most', value: 1.2 } },
    ],
  });
  await Promise.all([same.stop(), web.stop()]);
  worker.disconnect();
  return rows;
}
