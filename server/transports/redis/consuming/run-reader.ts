import type { Redis } from 'ioredis';
import type { Lease } from '../outcomes/lease.js';
import { readCheckpoints } from '../runs/checkpoint-codec.js';
import { loadRunScript } from '../runs/read-entries-scripts.js';
import { readArray, readHash, readNumber, readOptional } from '../scripts/reply.js';
import type { DeliveryDetails } from './redis-delivery.js';

/** Record of a run as a delivery begins with it. */
export interface ReadRun extends Pick<DeliveryDetails, 'checkpoints' | 'dueInMs'> {
  /** An entry was recorded while the run was read. */
  readonly isStale: boolean;
}

/** Reads the records of runs before their deliveries, and notes the entries that are recorded meanwhile. */
export class RunReader {
  readonly #connection: Redis;
  readonly #prefix: string;
  /** Runs that are being read; `true` if an entry was recorded meanwhile. */
  readonly #reading = new Map<string, boolean>();

  constructor(connection: Redis, prefix: string) {
    this.#connection = connection;
    this.#prefix = prefix;
  }

  /** Reads a run. Returns `undefined` if its lease was lost meanwhile. */
  async read(lease: Lease, isHeld: () => Promise<boolean>): Promise<ReadRun | undefined> {
    const runKey = keyOf(lease.serviceType, lease.jobId);
    this.#reading.set(runKey, false);
    try {
      const record = await this.#load(lease);
      if (!(await isHeld())) return undefined;
      return { ...record, isStale: this.#reading.get(runKey) === true };
    } finally {
      this.#reading.delete(runKey);
    }
  }

  /** Notes that an entry of a run was recorded. Returns `false` if the run is not being read. */
  note(serviceType: string, jobId: string): boolean {
    const runKey = keyOf(serviceType, jobId);
    if (!this.#reading.has(runKey)) return false;
    this.#reading.set(runKey, true);
    return true;
  }

  /** Notes that entries of all runs may have been recorded. */
  noteAll(): void {
    for (const runKey of this.#reading.keys()) this.#reading.set(runKey, true);
  }

  async #load({ queue, serviceType, jobId }: Lease): Promise<Omit<ReadRun, 'isStale'>> {
    const reply = readArray(await loadRunScript.run(this.#connection, this.#prefix, [queue, serviceType, jobId]));
    const [checkpoints, outputs, dueInMs] = reply;
    return {
      checkpoints: readCheckpoints(readHash(checkpoints), readHash(outputs)),
      dueInMs: readOptional(dueInMs, readNumber),
    };
  }
}

function keyOf(serviceType: string, jobId: string): string {
  return `${serviceType}:${jobId}`;
}
