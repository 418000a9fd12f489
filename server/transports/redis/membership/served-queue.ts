import { readArray, readString, unexpected } from '../scripts/reply.js';

/** Worker queue that a process serves. */
export interface ServedQueue {
  readonly name: string;
  /**
   * Slots that its jobs take: those that the process has for types without limits, as many of their own, or none,
   * because the gate limits them.
   */
  readonly slots: 'shared' | 'own' | 'none';
}

/** Returns the reply of `servedQueuesScript`. */
export function readServedQueues(reply: unknown): ServedQueue[] {
  return readArray(reply).map((row) => {
    const [name, slots] = readArray(row).map(readString);
    return { name: name ?? '', slots: readSlots(slots) };
  });
}

function readSlots(slots: string | undefined): ServedQueue['slots'] {
  if (slots === 'shared' || slots === 'own' || slots === 'none') return slots;
  throw unexpected('the slots of a queue', slots);
}
