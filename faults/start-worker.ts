import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { WorkerOptions } from './worker-options.js';

const script = new URL('worker.ts', import.meta.url);

/** Running worker process. */
export interface WorkerProcess {
  readonly pid: number;
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
  kill(signal: NodeJS.Signals): void;
}

/** Starts a worker process and waits until it consumes. */
export async function startWorker(
  options: Pick<WorkerOptions, 'scenario' | 'url' | 'prefix' | 'ledger'> & Partial<WorkerOptions>,
): Promise<WorkerProcess> {
  const argument: WorkerOptions = { variant: '', clockSkewMs: 0, maxCrashes: 3, lockDurationMs: 1_000, ...options };
  const child = fork(script, [JSON.stringify(argument)], { execArgv: ['--import', 'tsx'] });
  const ended = once(child, 'exit').then(() => {});
  await Promise.race([once(child, 'message'), ended]);
  return { pid: pidOf(child), ended, kill: (signal) => void child.kill(signal) };
}

function pidOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error('a worker did not start');
  return pid;
}
