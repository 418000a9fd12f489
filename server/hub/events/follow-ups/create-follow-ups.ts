import type { ErrorInfo } from '../../../errors.js';
import { deriveId } from '../../../transports/derive-id.js';
import type { Envelope } from '../../../transports/transport.js';
import type { FollowUpNames } from '../definition/follow-ups.js';

/** Terminal status of an event or a run. `result` is JSON. */
export type TerminalOutcome =
  | { readonly status: 'completed'; readonly result: string }
  | { readonly status: 'failed'; readonly error: ErrorInfo };

const none: readonly Envelope[] = [];

/**
 * Creates the envelopes of an event's follow-ups. Their ids derive from the service and the event's id, so that a second
 * commit of the same outcome creates the same ids. They also derive from its number of replays, because the follow-ups
 * of a replayed event differ from those of its earlier failure.
 */
export function createFollowUps(
  service: string,
  names: FollowUpNames,
  cause: Envelope,
  outcome: TerminalOutcome,
): readonly Envelope[] {
  const { onSuccess, onFailure, onComplete } = names;
  const isSuccess = outcome.status === 'completed';
  const onEnd = isSuccess ? onSuccess : onFailure;
  if (onEnd === undefined && onComplete === undefined) return none;
  const payload = `"payload":${cause.body}`;
  const result = isSuccess ? `"result":${outcome.result}` : `"error":${JSON.stringify(outcome.error)}`;
  const envelopes: Envelope[] = [];
  if (onEnd !== undefined) {
    const body = isSuccess ? outcome.result : `{${result},${payload}}`;
    envelopes.push(createFollowUp(service, cause, onEnd, isSuccess ? 'success' : 'failure', body));
  }
  if (onComplete !== undefined) {
    const body = `{"status":"${outcome.status}",${result},${payload}}`;
    envelopes.push(createFollowUp(service, cause, onComplete, 'complete', body));
  }
  return envelopes;
}

function createFollowUp(
  service: string,
  { id, replays, requestId, depth, trace }: Envelope,
  type: string,
  place: string,
  body: string,
): Envelope {
  const settings = { delayMs: 0, priority: 0, replays: 0, dedupe: undefined };
  const derived = deriveId(service, id, replays === 0 ? place : `${place}.${replays}`);
  return { id: derived, type, body, requestId, depth: depth + 1, ...settings, trace, causeId: id };
}
