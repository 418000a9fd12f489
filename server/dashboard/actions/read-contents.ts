import { HubError } from '../../errors.js';
import type { Hub } from '../../hub/hub.js';
import type { EventDetails } from '../../hub/introspection/event-search.js';
import type { ContentPart, ContentsBody, ShownContent } from '../protocol.js';
import type { CommonActionsOptions } from './actions-options.js';

/** Nothing with the id is retained. */
class NotRetainedError extends HubError {
  constructor() {
    super('ERR_UNKNOWN_EVENT_ID', 'nothing with this id is retained');
  }
}

/** Reads what an event or a run carries: payload, result, outputs of steps, and arguments of calls to decide on. */
export async function readContents(
  hub: Hub,
  id: string,
  formatPayload: CommonActionsOptions['formatPayload'],
): Promise<ContentsBody> {
  const found = await hub.find(id, { payloads: true });
  if (found.length === 0) throw new NotRetainedError();
  const show = (type: string, content: unknown, part: ContentPart): ShownContent => {
    try {
      const value = formatPayload === undefined ? content : formatPayload(type, content, part);
      // A function, a symbol and `undefined` have no JSON.
      return { ...part, json: JSON.stringify(value, null, 2) ?? 'null' };
    } catch (err) {
      hub.logger.error({ err, eventType: type, eventId: id }, 'formatPayload failed; the content was withheld');
      return { ...part, isWithheld: true };
    }
  };
  return { events: found.map((event) => ({ ...subjectOf(event), contents: contentsOf(event, show) })) };
}

function subjectOf({ id, service, type, kind }: EventDetails): Pick<EventDetails, 'id' | 'service' | 'type' | 'kind'> {
  return { id, service, type, kind };
}

function contentsOf(
  { type, payload, result, steps = [] }: EventDetails,
  show: (type: string, content: unknown, part: ContentPart) => ShownContent,
): readonly ShownContent[] {
  const contents: ShownContent[] = [];
  if (payload !== undefined) contents.push(show(type, payload, { kind: 'payload' }));
  if (result !== undefined) contents.push(show(type, result, { kind: 'result' }));
  for (const step of steps) {
    if (step.arguments !== undefined) contents.push(show(type, step.arguments, { kind: 'arguments', step: step.name }));
    if (step.output !== undefined) contents.push(show(type, step.output, { kind: 'output', step: step.name }));
  }
  return contents;
}
