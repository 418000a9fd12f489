import type { Redactor } from '../redaction.js';
import { type Envelope, type FailedOutcome, workflowOf } from '../transports/delivery.js';
import { CancelledError } from '../transports/errors.js';
import type { EventRecord } from '../transports/event-record.js';
import type { TransportManager } from '../transports/transport.js';
import { WorkflowCancelledError } from './errors.js';
import { createFollowUps, type FollowUpNames } from './events/follow-ups.js';
import { type HubDescription, parseDescription } from './introspection/hub-description.js';
import type { Registry } from './registry.js';

/** Parts of a hub that a cancellation uses. */
export interface CancelParts {
  readonly transport: Pick<TransportManager, 'service' | 'fleet' | 'lookup' | 'runs'>;
  readonly redactor: Redactor;
}

/**
 * Ends the copies of an event in all services, running ones and runs included. The follow-ups are those of the hubs that
 * handle its type. Returns `true` if a copy was ended.
 *
 * @param prepare applies the schemas of the follow-ups and adds their keys
 */
export async function cancelEvent(
  id: string,
  registry: Registry,
  { transport, redactor }: CancelParts,
  prepare: (envelopes: readonly Envelope[]) => readonly Envelope[],
): Promise<boolean> {
  const hubs = [registry.describe(transport.service), ...(await transport.fleet.registered()).map(parseDescription)];
  const conclude = (envelope: Envelope, reason: Error, service: string): FailedOutcome => {
    const ofService = hubs.filter((hub) => hub.service === service);
    const { onFailure, onComplete } = followUpsOf(envelope.type, ofService);
    const error = redactor.info(reason);
    const names = { ...(onFailure !== undefined && { onFailure }), ...(onComplete !== undefined && { onComplete }) };
    const followUps = prepare(createFollowUps(service, names, envelope, { status: 'failed', error }));
    return { status: 'failed', cancelled: true, durationMs: 0, error, followUps };
  };
  const nameOf = (type: string): string => workflowOf(type) ?? type;
  const cancel = async ({ service, type, run }: EventRecord): Promise<boolean> => {
    const asEvent = (envelope: Envelope): FailedOutcome => conclude(envelope, new CancelledError(type), service);
    if (await transport.runs.cancel(id, asEvent, service)) return true;
    if (run === undefined) return false;
    const reason = new WorkflowCancelledError(nameOf(type), id);
    return (await transport.runs.end(type, id, conclude(run.envelope, reason, service), reason, service)) === 'ok';
  };
  const asOwn = (envelope: Envelope): FailedOutcome =>
    conclude(envelope, new CancelledError(envelope.type), transport.service);
  const isOwnCancelled = await transport.runs.cancel(id, asOwn);
  if (isOwnCancelled && hubs.every(({ service }) => service === transport.service)) return true;
  const copies = (await transport.lookup.find(id, { bodies: true })).filter(({ endedAt }) => endedAt === undefined);
  const cancelled = await Promise.all(copies.map(cancel));
  return isOwnCancelled || cancelled.includes(true);
}

function followUpsOf(type: string, hubs: readonly HubDescription[]): FollowUpNames {
  const workflow = workflowOf(type);
  for (const hub of hubs) {
    const found =
      workflow === undefined
        ? hub.events.find((event) => event.type === type && event.kind !== 'declared')
        : hub.workflows.find(({ name }) => name === workflow);
    if (found !== undefined) return found;
  }
  return {};
}
