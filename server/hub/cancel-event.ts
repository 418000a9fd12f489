import type { Redactor } from '../redaction.js';
import { type Envelope, type FailedOutcome, workflowOf } from '../transports/delivery.js';
import type { TransportManager } from '../transports/transport.js';
import { CancelledError, WorkflowCancelledError } from './errors.js';
import { createFollowUps, type FollowUpNames } from './events/follow-ups.js';
import { type HubDescription, parseDescription } from './introspection/hub-description.js';
import type { Registry } from './registry.js';

/** Parts of a hub that a cancellation uses. */
export interface CancelParts {
  readonly transport: Pick<TransportManager, 'service' | 'fleet' | 'lookup' | 'runs'>;
  readonly redactor: Redactor;
}

/**
 * Ends an event of the service that waits, or a run. The follow-ups are those of the hub that handles its type.
 *
 * @param prepare applies the schemas of the follow-ups and adds their keys
 */
export async function cancelEvent(
  id: string,
  registry: Registry,
  { transport, redactor }: CancelParts,
  prepare: (envelopes: readonly Envelope[]) => readonly Envelope[],
): Promise<boolean> {
  const running = (await transport.fleet.registered()).map(parseDescription);
  const hubs = running.filter(({ service }) => service === transport.service);
  const conclude = (envelope: Envelope, reason: Error): FailedOutcome => {
    const { onFailure, onComplete } = followUpsOf(envelope.type, [registry.describe(transport.service), ...hubs]);
    const error = redactor.info(reason);
    const names = { ...(onFailure !== undefined && { onFailure }), ...(onComplete !== undefined && { onComplete }) };
    const followUps = prepare(createFollowUps(transport.service, names, envelope, { status: 'failed', error }));
    return { status: 'failed', cancelled: true, durationMs: 0, error, followUps };
  };
  const nameOf = ({ type }: Envelope): string => workflowOf(type) ?? type;
  if (await transport.runs.cancel(id, (envelope) => conclude(envelope, new CancelledError(nameOf(envelope)))))
    return true;
  const found = await transport.lookup.find(id, { bodies: true });
  const run = found.find(({ service, run: record }) => service === transport.service && record !== undefined)?.run;
  if (run === undefined || run.endedAt !== undefined) return false;
  const reason = new WorkflowCancelledError(nameOf(run.envelope), id);
  return (await transport.runs.end(run.envelope.type, id, conclude(run.envelope, reason), reason)) === 'ok';
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
