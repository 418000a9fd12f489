import type { Envelope } from '../delivery.js';

let ids = 0;

/** Creates an envelope with a unique id. */
export function envelope(type: string, fields: Partial<Envelope> = {}): Envelope {
  ids += 1;
  const id = `event-${ids}`;
  const settings = { depth: 0, delayMs: 0, priority: 0, replays: 0, dedupe: undefined };
  return { id, type, body: '{}', requestId: id, ...settings, ...fields };
}
