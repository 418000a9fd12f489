import { createHash } from 'node:crypto';

/**
 * Derives the id of an event from its cause: the first 32 hexadecimal digits of SHA-1 of `<causeId>/<place>`, grouped as
 * in a UUID. All derived ids have one length, and the same cause and place always yield the same id.
 *
 * @param place - `success`, `emit:3`, `trigger:fulfil`: unique among the events of the cause
 */
export function deriveId(causeId: string, place: string): string {
  const hex = createHash('sha1').update(`${causeId}/${place}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}
