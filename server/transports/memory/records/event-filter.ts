import type { Envelope } from '../../transport.js';

/** Condition on events: an id, or a request. */
export type EventFilter = { readonly id: string } | { readonly requestId: string };

export function matchesFilter(filter: EventFilter, event: Pick<Envelope, 'id' | 'requestId'>): boolean {
  return 'id' in filter ? event.id === filter.id : event.requestId === filter.requestId;
}
