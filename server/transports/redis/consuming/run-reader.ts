import type { Redis } from 'ioredis';
import { type Lease, leaseArguments } from '../outcomes/lease.js';
import { readCheckpoints } from '../runs/checkpoint-codec.js';
import { loadRunScript } from '../runs/read-entries-scripts.js';
import { readArray, readHash, readNumber, readOptional } from '../scripts/reply.js';
import type { DeliveryDetails } from './redis-delivery.js';

/** Record of a run as a delivery begins with it. */
export interface ReadRun extends Pick<DeliveryDetails, 'checkpoints' | 'dueInMs'> {
  /** An entry was recorded while the run was read. */
  readonly isStale: boolean;
}

/** Messages about a run that arrived while it was read. */
interface Noted {
  isStale: boolean;
  isEnded: boolean;
}

/** Reads the records of runs before their deliveries, and notes the messages about them that arrive meanwhile. */
export class RunReader {
  readonly #connection: Redis;
  readonly #prefix: string;
  readonly #reading = new Map<string, Noted>();

  constructor(connection: Redis, prefix: string) {
    this.#connection = connection;
    this.#prefix = prefix;
  }

  /** Reads a run. Returns `undefined` if its lease was lost, or another process has ended it. */
  async read(lease: Lease, isHeld: () => Promise<boolean>): Promise<ReadRun | undefined> {
    const runKey = keyOf(lease.serviceType, lease.jobId);
    const noted: Noted = { isStale: false, isEnded: false };
    this.#reading.set(runKey, noted);
    try {
      const record = await this.#load(lease);
      if (record === undefined || !(await isHeld()) || noted.isEnded) return undefined;
      return { ...record, isStale: noted.isStale };
    } finally {
      this.#reading.delete(runKey);
    }
  }

  /** Notes that an entry of a run was recorded. Returns `false` if the run is not being read. */
  noteEntry(serviceType: string, jobId: string): boolean {
    const noted = this.#reading.get(keyOf(serviceType, jobId));
    if (noted !== undefined) noted.isStale = true;
    return noted !== undefined;
  }

  /** Notes that another process has ended a run. Returns `false` if the run is not being read. */
  noteEnd(serviceType: string, jobId: string): boolean {
    const noted = this.#reading.get(keyOf(serviceType, jobId));
    if (noted !== undefined) noted.isEnded = true;
    return noted !== undefined;
  }

  /** Notes that entries of all runs may have been recorded. */
  noteAll(): void {
    for (const noted of this.#reading.values()) noted.isStale = true;
  }

  async #load(lease: Lease): Promise<Omit<ReadRun, 'isStale'> | undefined> {
    const reply = await loadRunScript.run(this.#connection, this.#prefix, leaseArguments(lease));
    if (reply === null) return undefined;
    const [checkpoints, outputs, dueInMs] = readArray(reply);
    return {
      checkpoints: readCheckpoints(readHash(checkpoints), readHash(outputs)),
      dueInMs: readOptional(dueInMs, readNumber),
    };
  }
}

function keyOf(serviceType: string, jobId: string): string {
  return `${serviceType}:${jobId}`;
}
