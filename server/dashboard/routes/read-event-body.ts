import type { Hub } from '../../hub/hub.js';
import type { EventBody } from '../protocol.js';

/** Reads the body of one event type. */
export async function readEventBody(hub: Hub, type: string): Promise<EventBody> {
  const [metrics, recentFailures] = await Promise.all([hub.metrics(type), hub.failures(type)]);
  return { ...metrics, recentFailures };
}
