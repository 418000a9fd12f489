import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { programOf } from './program.js';
import type { WorkerOptions } from './worker-options.js';

const defaults = {
  variant: '',
  clockSkewMs: 0,
  // A kill, or a machine that stands still for longer than a lease, is not the fault of a handler.
  maxCrashes: 1_000,
  lockDurationMs: 1_000,
  workForMs: 0,
};

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
  const argument: WorkerOptions = { ...defaults, ...options };
  const child = fork(programOf('worker'), [JSON.stringify(argument)], { execArgv: [] });
  const ended = once(child, 'exit').then(() => {});
  await Promise.race([once(child, 'message'), ended]);
  return { pid: pidOf(child), ended, kill: (signal) => void child.kill(signal) };
}

function pidOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error('a worker did not start');
  return pid;
}
