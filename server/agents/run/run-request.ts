import { InvalidOptionError, quote } from '../../errors.js';
import type { HandlerCtx } from '../../hub/events/context.js';
import { lineageOf } from '../agent/agent-context.js';
import type { AgentStreamEvent } from '../agent/agent-stream.js';
import type { ApprovalEvents, Approver, OnApproval } from '../approvals/approval.js';
import { NoApproverError } from '../approvals/approval-errors.js';
import type { TokenUsage } from '../model/token-usage.js';
import type { AgentSpec } from './agent-spec.js';
import type { RunPlace } from './turn-recorder.js';

/** Input and validated options of one run. */
export interface RunRequest {
  readonly input: string;
  readonly runId: string;
  /** Absent if no other run can know the conversation. */
  readonly conversationId: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly payload: unknown;
  readonly hubCtx: HandlerCtx | undefined;
  readonly signal: AbortSignal | undefined;
  readonly onTokenUsage: ((usage: TokenUsage) => void) | undefined;
  readonly onApproval: OnApproval | undefined;
  readonly approvals: ApprovalEvents | undefined;
  /** Place at which a durable run records its turns. */
  readonly place: RunPlace | undefined;
  /** Present if the run is streamed. The provider is then called with `chatStream`. */
  readonly onEvent?: (event: AgentStreamEvent) => void;
}

/** Returns who decides on the calls of a run: as its options say, else as the delegating run's do. */
export function approverOf({ onApproval, approvals: events, hubCtx }: RunRequest): Approver | undefined {
  if (onApproval !== undefined) return { onApproval };
  return events === undefined ? lineageOf(hubCtx)?.approver : { events };
}

/** @throws {NoApproverError} if the agent has tools that need approval, and nobody can decide */
export function checkApprover(agent: AgentSpec, request: RunRequest): void {
  if (request.approvals !== undefined && request.place === undefined) {
    throw new InvalidOptionError(
      `approvals of a run of agent ${quote(agent.name)}`,
      'omitted unless hubCtx is the context of a workflow function or of a handler of asHandler; use onApproval',
      'approvals',
    );
  }
  if (!agent.tools().asksForApproval) return;
  const approver = approverOf(request);
  if (approver === undefined) throw new NoApproverError(agent.name, 'set onApproval of run, or approvals of asHandler');
  if (approver.events === undefined || request.place !== undefined) return;
  throw new NoApproverError(agent.name, 'an agent that the code of a tool or a plain step runs cannot wait');
}
