import { readArray, readString } from '../scripts/reply.js';

/** Worker queue that a process serves. */
export interface ServedQueue {
  readonly name: string;
  /**
   * Slots that its jobs take: a number of their own, those that the process has for types without limits, or as many
   * of their own as those.
   */
  readonly slots: number | 'shared' | 'own';
}

/** Returns the reply of `servedQueuesScript`. */
export function readServedQueues(reply: unknown): ServedQueue[] {
  return readArray(reply).map((row) => {
    const [name, limit] = readArray(row).map(readString);
    return { name: name ?? '', slots: limit === '' ? 'shared' : limit === 'rate' ? 'own' : Number(limit) };
  });
}
