import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createHub } from 'hubline';
import type { CourierServer } from './courier/courier-server.js';
import { isFile, readingTransport } from './shared-transport.js';
import type { RunningShop } from './shop-in-this-process.js';

const killMs = 4_000;
// The worker stands beside this file, compiled as it is.
const program = fileURLToPath(import.meta.url).replace(/[^\\/]+(\.[jt]s)$/, 'worker$1');

/** Settings of a shop in worker processes. */
export interface WorkerSettings {
  /** URL of Redis or of Postgres, or a file, which one worker owns. */
  readonly store: string;
  /** Orders per second, over all workers. */
  readonly rate: number;
  /** Kill a worker every few seconds, print the counts, and start another worker. */
  readonly kill: boolean;
  readonly courier: CourierServer | undefined;
}

/**
 * Creates a shop that runs in worker processes; this process only shows the dashboard. Kill a worker with
 * `kill -9`: the others take over its events, or the next one does.
 */
export function shopInWorkers({ store, rate, kill, courier }: WorkerSettings): RunningShop {
  const workers = isFile(store) ? 1 : 3;
  const hub = createHub({ service: 'dashboard', logger: false, transport: readingTransport(store), observer: true });
  const children = new Set<ChildProcess>();
  let isStopping = false;
  let timer: NodeJS.Timeout | undefined;
  const startWorker = async (): Promise<void> => {
    const child = fork(program, [store, String(rate / workers), courier?.url ?? ''], {
      // Arguments of a process are visible to all users of the machine.
      env: { ...process.env, COURIER_TOKEN: courier?.token ?? '' },
    });
    children.add(child);
    const ended = once(child, 'exit').then(() => {
      children.delete(child);
      if (!isStopping && !kill) console.log(`Worker ${child.pid} ended${workers > 1 ? '; the others continue' : ''}.`);
    });
    await Promise.race([once(child, 'message'), ended]);
    if (children.has(child)) console.log(`Worker ${child.pid}`);
  };
  const killOne = async (): Promise<void> => {
    const [child] = children;
    if (child === undefined) throw new Error('no worker is alive');
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    console.log(`Killed worker ${child.pid} with kill -9. ${await countsOf(hub)}`);
    if (!isStopping) await startWorker();
  };
  const killNext = (): void => {
    if (isStopping) return;
    timer = setTimeout(() => killOne().then(killNext, (error: unknown) => console.error(error)), killMs);
  };
  return {
    hub,
    async start() {
      // The first worker creates the store.
      await startWorker();
      if (children.size === 0) throw new Error('the worker ended before it started');
      await hub.start();
      await Promise.all(Array.from({ length: workers - 1 }, startWorker));
      if (kill) killNext();
    },
    async stop() {
      isStopping = true;
      clearTimeout(timer);
      const ended = [...children].map((child) => once(child, 'exit'));
      for (const child of children) child.kill('SIGTERM');
      await Promise.all(ended);
      await hub.stop();
    },
  };
}

/** Returns the counts over all event types, from one read. */
async function countsOf(hub: RunningShop['hub']): Promise<string> {
  const { events } = await hub.introspect();
  const sum = (count: 'received' | 'completed' | 'failed' | 'pending'): number =>
    events.reduce((total, { metrics }) => total + metrics[count], 0);
  return `${sum('received')} received = ${sum('completed')} completed + ${sum('failed')} failed + ${sum('pending')} pending`;
}
