import { InvalidOptionError, messageOf, quote } from '../../errors.js';
import type { RegisteredEvent } from '../../hub/events/definition/event.js';
import type { EventRef } from '../../hub/references/event-ref.js';
import type { AgentSpec } from '../run/agent-spec.js';
import type { ApprovalEvents } from './approval.js';
import { NoApproverError } from './approval-errors.js';

/** Finds registered events. */
interface Events {
  event(target: EventRef<never, unknown> | string): RegisteredEvent;
}

/** Returns `true` if an agent has a tool whose calls may need approval. */
function needsApprover(agent: AgentSpec): boolean {
  return agent.tools().asksForApproval;
}

/**
 * Checks that somebody can decide on the calls of the agents, and that decisions are found by their key.
 *
 * @param agents agents of the handler, delegates included
 * @throws {NoApproverError | UnknownEventError | InvalidOptionError}
 */
export function checkApprovers(
  agents: readonly AgentSpec[],
  approvals: ApprovalEvents | undefined,
  owner: string,
  events: Events,
): void {
  if (approvals === undefined) {
    const asking = agents.find(needsApprover);
    if (asking !== undefined) throw new NoApproverError(asking.name, `set approvals of ${owner}`);
    return;
  }
  events.event(approvals.requested);
  const { type, key } = events.event(approvals.decided);
  const sample = { approvalId: 'approval', approved: true };
  let found: unknown;
  try {
    found = key?.(sample);
  } catch (error) {
    found = messageOf(error);
  }
  if (found !== sample.approvalId) {
    throw new InvalidOptionError(`key of event ${quote(type)}, the decided event of ${owner}`, 'the approvalId', found);
  }
}
