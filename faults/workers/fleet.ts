import { setTimeout as delay } from 'node:timers/promises';
import { startWorker, type WorkerProcess } from './start-worker.js';

/** Worker processes of one scenario; a worker that ends is replaced. */
export interface Fleet {
  /** Number of killed workers. */
  readonly kills: number;
  /** Their process ids. */
  readonly killed: readonly number[];
  /** Kills a random worker with `kill -9` about every `ms` milliseconds until the signal aborts. Spares the last one. */
  killEvery(ms: number, signal: AbortSignal): Promise<void>;
  /** Kills a random worker with `kill -9`. Spares the last one. */
  killOne(): void;
  stop(): Promise<void>;
}

export async function startFleet(size: number, options: Parameters<typeof startWorker>[0]): Promise<Fleet> {
  const workers = new Set<WorkerProcess>();
  let isStopping = false;
  const killed: number[] = [];
  const starting = new Set<Promise<void>>();

  async function add(): Promise<void> {
    const worker = await startWorker(options);
    workers.add(worker);
    void worker.ended.then(() => {
      workers.delete(worker);
      if (!isStopping) replace();
    });
    if (isStopping) worker.kill('SIGKILL');
  }
  function replace(): void {
    const started = add().finally(() => starting.delete(started));
    starting.add(started);
  }
  function killOne(): void {
    const alive = [...workers];
    const victim = alive[Math.floor(Math.random() * alive.length)];
    if (victim === undefined || alive.length === 1) return;
    victim.kill('SIGKILL');
    killed.push(victim.pid);
  }
  await Promise.all(Array.from({ length: size }, add));

  return {
    get kills() {
      return killed.length;
    },
    killed,
    killOne,
    async killEvery(ms, signal) {
      while (!signal.aborted) {
        await delay(ms * (0.5 + Math.random()), undefined, { signal }).catch(() => {});
        if (!signal.aborted) killOne();
      }
    },
    async stop() {
      isStopping = true;
      await Promise.all(starting);
      const running = [...workers];
      for (const worker of running) worker.kill('SIGKILL');
      await Promise.all(running.map(({ ended }) => ended));
    },
  };
}
