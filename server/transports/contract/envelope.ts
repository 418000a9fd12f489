import type { Envelope } from '../transport.js';

let ids = 0;

/** An envelope with an id of its own. */
export function envelope(type: string, fields: Partial<Envelope> = {}): Envelope {
  ids += 1;
  const id = `event-${ids}`;
  return { id, type, body: '{}', requestId: id, depth: 0, delayMs: 0, priority: 0, dedupe: undefined, ...fields };
}
