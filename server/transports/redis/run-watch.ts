import type { Redis } from 'ioredis';
import { HubError } from '../../errors.js';

/** The end of a run, as the scripts announce it. */
interface RunEnd {
  readonly unit: string;
  readonly jobId: string;
  /** Why it was ended from outside; `undefined` where it came to its own end. */
  readonly reason: Error | undefined;
}

/** Hears of runs that end, in any process. */
export class RunWatch {
  readonly #connection: Redis;
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(connection: Redis) {
    this.#connection = connection;
  }

  /** @param onEnd called for each run that is ended from outside */
  async start(prefix: string, onEnd: (unit: string, jobId: string, reason: Error) => void): Promise<void> {
    this.#connection.on('message', (_channel: string, message: string) => {
      const { unit, jobId, reason } = decodeEnd(message);
      if (reason !== undefined) onEnd(unit, jobId, reason);
      this.#wake(keyOf(unit, jobId));
    });
    // What was announced while the connection was lost was not heard: all who wait look again.
    this.#connection.on('ready', () => {
      for (const key of this.#waiting.keys()) this.#wake(key);
    });
    await this.#connection.subscribe(`${prefix}:ends`);
  }

  /** Resolves when the run may have ended; look then. Rejects with the signal's reason. */
  next(unit: string, jobId: string, signal: AbortSignal): { readonly end: Promise<void>; cancel(): void } {
    const key = keyOf(unit, jobId);
    const waiting = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, waiting);
    let listener = (): void => {};
    let abort = (): void => {};
    const cancel = (): void => {
      signal.removeEventListener('abort', abort);
      waiting.delete(listener);
      if (waiting.size === 0 && this.#waiting.get(key) === waiting) this.#waiting.delete(key);
    };
    const end = new Promise<void>((resolve, reject) => {
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
    return { end, cancel };
  }

  close(): void {
    this.#connection.disconnect();
  }

  #wake(key: string): void {
    for (const listener of [...(this.#waiting.get(key) ?? [])]) listener();
  }
}

function keyOf(unit: string, jobId: string): string {
  return `${unit}:${jobId}`;
}

function decodeEnd(message: string): RunEnd {
  const { unit, id, reason } = Object(JSON.parse(message)) as Record<string, unknown>;
  return {
    unit: String(unit),
    jobId: String(id),
    reason: typeof reason === 'string' ? decodeReason(reason) : undefined,
  };
}

/** A reason for ending a run, as it travels to the process that runs it. */
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
