import type { Logger } from '../../../transports/logger.js';
import type { Envelope } from '../../../transports/transport.js';
import { InvalidKeyError } from '../../errors.js';
import type { RegisteredEvent } from '../definition/event.js';
import { keyOf } from '../definition/event-key.js';
import { toStoredBody } from '../payloads/stored-payload.js';

/** The part of the hub that preparing follow-ups needs. */
export interface FollowUpHost {
  readonly logger: Logger;
  readonly maxPayloadBytes: number;
  /** Returns the registered event of a type. */
  findEvent(type: string): RegisteredEvent | undefined;
}

/**
 * Passes follow-ups through the schemas of their types and adds their keys, as `emit` does. A payload that its schema
 * rejects stays as it is: its event fails when it is delivered, with a record of why. Synchronous unless a schema is
 * asynchronous.
 */
export function prepareFollowUps(
  envelopes: readonly Envelope[],
  host: FollowUpHost,
): readonly Envelope[] | Promise<readonly Envelope[]> {
  if (envelopes.length === 0) return envelopes;
  const prepared: Envelope[] = [];
  const pending: Promise<void>[] = [];
  for (const [index, envelope] of envelopes.entries()) {
    const result = prepare(envelope, host);
    prepared[index] = result instanceof Promise ? envelope : result;
    if (result instanceof Promise) {
      const insert = (ready: Envelope): void => {
        prepared[index] = ready;
      };
      pending.push(result.then(insert));
    }
  }
  return pending.length === 0 ? prepared : Promise.all(pending).then(() => prepared);
}

function prepare(envelope: Envelope, host: FollowUpHost): Envelope | Promise<Envelope> {
  const event = host.findEvent(envelope.type);
  if (event === undefined || (event.schema === undefined && event.key === undefined)) return envelope;
  const { type, body } = envelope;
  const finish = (stored: string): Envelope => {
    const key = keyOf(event, JSON.parse(stored));
    return key === undefined ? { ...envelope, body: stored } : { ...envelope, body: stored, key };
  };
  const keep = (err: unknown): Envelope => {
    if (InvalidKeyError.is(err)) {
      const { id, requestId } = envelope;
      host.logger.warn({ err, eventId: id, eventType: type, requestId }, 'follow-up event has no valid key');
    }
    return envelope;
  };
  try {
    if (event.schema === undefined) return finish(body);
    const emitted = { type, payload: JSON.parse(body) as unknown, body };
    const stored = toStoredBody(emitted, event.schema, host.maxPayloadBytes);
    return typeof stored === 'string' ? finish(stored) : stored.then(finish).catch(keep);
  } catch (error) {
    return keep(error);
  }
}
