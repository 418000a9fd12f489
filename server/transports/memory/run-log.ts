import type { ErrorInfo } from '../../errors.js';
import { keptRuns } from '../limits.js';
import type { Outcome, RunRecord } from '../transport.js';
import type { Entry } from './entry.js';

interface Ended {
  readonly at: number;
  readonly result: string | undefined;
  readonly error: ErrorInfo | undefined;
}

interface Run {
  readonly entry: Entry;
  readonly acceptedAt: number;
  ended: Ended | undefined;
  readonly listeners: Set<(run: Run) => void>;
}

/** Runs of one type in one service: all that are pending, and the last `keptRuns` that ended. */
export class RunLog {
  readonly #runs = new Map<string, Run>();
  #latest: Run[] = [];
  #endedIds: string[] = [];

  accept(entry: Entry, now: number): void {
    const run: Run = { entry, acceptedAt: now, ended: undefined, listeners: new Set() };
    const { id, replays } = entry.envelope;
    if (replays > 0) this.#forget(id);
    this.#runs.set(id, run);
    this.#latest.push(run);
    if (this.#latest.length > keptRuns) this.#latest.shift();
  }

  end(id: string, outcome: Exclude<Outcome, { status: 'retry' }>, now: number): void {
    const run = this.#runs.get(id);
    if (run === undefined) return;
    run.ended =
      outcome.status === 'completed'
        ? { at: now, result: outcome.result, error: undefined }
        : { at: now, result: undefined, error: outcome.error };
    for (const listener of run.listeners) listener(run);
    this.#endedIds.push(id);
    const oldest = this.#endedIds.length > keptRuns ? this.#endedIds.shift() : undefined;
    if (oldest !== undefined) this.#runs.delete(oldest);
  }

  #forget(id: string): void {
    this.#latest = this.#latest.filter(({ entry }) => entry.envelope.id !== id);
    this.#endedIds = this.#endedIds.filter((ended) => ended !== id);
  }

  entry(id: string): Entry | undefined {
    return this.#runs.get(id)?.entry;
  }

  record(id: string, service: string): RunRecord | undefined {
    const run = this.#runs.get(id);
    return run === undefined ? undefined : toRecord(run, service);
  }

  /** Returns the runs that were accepted last, newest first, at most `keptRuns`. */
  latest(limit: number, service: string): RunRecord[] {
    return this.#latest
      .slice(-limit)
      .reverse()
      .map((run) => toRecord(run, service));
  }

  /** Resolves when the run has ended; with `undefined` if the run is unknown. */
  ended(id: string, service: string, signal: AbortSignal): Promise<RunRecord | undefined> {
    const known = this.#runs.get(id);
    if (known === undefined || known.ended !== undefined) return Promise.resolve(this.record(id, service));
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const stop = (): void => {
        known.listeners.delete(listener);
        signal.removeEventListener('abort', abort);
      };
      // Receives the run itself: the log may have evicted it before the promise's callbacks run.
      const listener = (run: Run): void => {
        stop();
        resolve(toRecord(run, service));
      };
      const abort = (): void => {
        stop();
        reject(signal.reason);
      };
      known.listeners.add(listener);
      signal.addEventListener('abort', abort);
    });
  }
}

function toRecord({ entry, acceptedAt, ended }: Run, service: string): RunRecord {
  const { envelope, attempt, lease, checkpoints } = entry;
  const whileOpen = lease === undefined ? 'waiting' : 'active';
  const whenEnded = ended?.error === undefined ? 'completed' : 'failed';
  return {
    id: envelope.id,
    service,
    envelope,
    acceptedAt,
    attempt,
    status: ended === undefined ? whileOpen : whenEnded,
    checkpoints: new Map(checkpoints),
    endedAt: ended?.at,
    result: ended?.result,
    error: ended?.error,
  };
}
