import type { Redis } from 'ioredis';
import { HubError } from '../../../errors.js';
import { redisKey } from '../scripts/keys.js';

/** End of a run, as scripts announce it. */
interface RunEnd {
  readonly serviceType: string;
  readonly jobId: string;
  /** Reason of a run that was ended from outside; `undefined` for a run that ended by itself. */
  readonly reason: Error | undefined;
}

/** Listens for ends of runs in all processes. */
export class RunEndListener {
  readonly #connection: Redis;
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(connection: Redis) {
    this.#connection = connection;
  }

  /** @param onEnd called for each run that is ended from outside */
  async start(prefix: string, onEnd: (serviceType: string, jobId: string, reason: Error) => void): Promise<void> {
    this.#connection.on('message', (_channel: string, message: string) => {
      const { serviceType, jobId, reason } = decodeEnd(message);
      if (reason !== undefined) onEnd(serviceType, jobId, reason);
      this.#wake(runOf(serviceType, jobId));
    });
    // Announcements are lost while the connection is: all callers check their runs again.
    this.#connection.on('ready', () => {
      for (const run of this.#waiting.keys()) this.#wake(run);
    });
    await this.#connection.subscribe(redisKey(prefix, 'run-ends'));
  }

  /** Resolves when the run may have ended; the caller checks it then. Rejects with the signal's reason. */
  next(
    serviceType: string,
    jobId: string,
    signal: AbortSignal,
  ): { readonly mayHaveEnded: Promise<void>; cancel(): void } {
    const run = runOf(serviceType, jobId);
    const waiting = this.#waiting.get(run) ?? new Set();
    this.#waiting.set(run, waiting);
    let listener = (): void => {};
    let abort = (): void => {};
    const cancel = (): void => {
      signal.removeEventListener('abort', abort);
      waiting.delete(listener);
      if (waiting.size === 0 && this.#waiting.get(run) === waiting) this.#waiting.delete(run);
    };
    const mayHaveEnded = new Promise<void>((resolve, reject) => {
      listener = () => {
        cancel();
        resolve();
      };
      abort = () => {
        cancel();
        reject(signal.reason);
      };
      waiting.add(listener);
      signal.addEventListener('abort', abort);
      if (signal.aborted) abort();
    });
    return { mayHaveEnded, cancel };
  }

  close(): void {
    this.#connection.disconnect();
  }

  #wake(run: string): void {
    for (const listener of [...(this.#waiting.get(run) ?? [])]) listener();
  }
}

function runOf(serviceType: string, jobId: string): string {
  return `${serviceType}:${jobId}`;
}

function decodeEnd(message: string): RunEnd {
  const { serviceType, id, reason } = Object(JSON.parse(message)) as Record<string, unknown>;
  return {
    serviceType: String(serviceType),
    jobId: String(id),
    reason: typeof reason === 'string' ? decodeReason(reason) : undefined,
  };
}

/** Returns the reason for ending a run as it travels to the process that runs it. */
export function encodeReason(reason: Error): string {
  const code = HubError.is(reason) ? reason.code : undefined;
  return JSON.stringify({ name: reason.name, message: reason.message, code });
}

function decodeReason(json: string): Error {
  const { name, message, code } = Object(JSON.parse(json)) as Record<string, unknown>;
  const text = String(message);
  const error = typeof code === 'string' ? new HubError(code, text) : new Error(text);
  error.name = String(name);
  return error;
}
