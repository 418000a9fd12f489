import { HubError } from '../../errors.js';
import type { Hub } from '../../hub/hub.js';
import { isName } from '../../options.js';
import type { EventDetailsBody, RequestBody } from '../protocol.js';

/** Nothing with the id is retained. */
class NotRetainedError extends HubError {
  constructor(code: 'ERR_UNKNOWN_EVENT_ID' | 'ERR_UNKNOWN_REQUEST_ID') {
    super(code, 'nothing with this id is retained');
  }
}

/** Reads one event, of any type if `type` is absent. @throws {NotRetainedError} */
export async function readEventDetailsBody(hub: Hub, id: string, type?: string): Promise<EventDetailsBody> {
  const found = isName(id) ? await hub.find(id) : [];
  const events = type === undefined ? found : found.filter((event) => event.kind === 'event' && event.type === type);
  if (events.length === 0) throw new NotRetainedError('ERR_UNKNOWN_EVENT_ID');
  return { protocol: 2, now: hub.transport.clock.now(), events };
}

/** Reads the request with an id, or the one that the event with this id belongs to. @throws {NotRetainedError} */
export async function readRequestBody(hub: Hub, id: string): Promise<RequestBody> {
  if (!isName(id)) throw new NotRetainedError('ERR_UNKNOWN_REQUEST_ID');
  let request = await hub.request(id);
  if (request.events.length === 0) {
    const [event] = await hub.find(id);
    if (event === undefined) throw new NotRetainedError('ERR_UNKNOWN_REQUEST_ID');
    request = await hub.request(event.requestId);
  }
  return { protocol: 2, now: hub.transport.clock.now(), ...request };
}
