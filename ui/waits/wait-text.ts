import type { WaitIntrospection } from '../../server/dashboard/protocol.js';

/** Separates the name of a step from the names of the steps inside it. */
const PATH_SEPARATOR = ' / ';

/** Returns the name of the tool whose call waits for an approval. */
export function toolOf({ step }: WaitIntrospection): string {
  return (step.name.split(PATH_SEPARATOR).at(-1) ?? step.name).replace(/#\d+$/, '').trim();
}

/** Returns what a step waits for, in words. */
export function waitText({ step: { kind, waitsFor } }: WaitIntrospection): string {
  if (waitsFor?.event !== undefined) {
    const { type, key } = waitsFor.event;
    return key === undefined ? `event ${type}` : `event ${type} with the key ${key}`;
  }
  if (waitsFor?.runId !== undefined) return `run ${waitsFor.runId.slice(0, 8)}`;
  return kind === 'sleep' ? 'the end of its sleep' : 'the next attempt';
}
