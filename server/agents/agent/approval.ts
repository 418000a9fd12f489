import type { EventRef } from '../../hub/events/emit.js';
import { OptionChecker } from '../../options.js';
import type { ToolCall } from '../model/message.js';

/** Request to decide on a tool call: the payload of the event `requested`. */
export interface ApprovalRequest {
  /** Id of the request. The event that decides on it repeats it. */
  approvalId: string;
  /** Agent whose model called the tool. */
  agentName: string;
  /** Id of the run. On the hub it is the id of the event or of the workflow run. */
  runId: string;
  /** Name of the tool. */
  tool: string;
  /** Arguments of the call, parsed. */
  arguments: unknown;
}

/** Decision on a tool call. */
export interface ApprovalDecision {
  approved: boolean;
  /** Text for the model, such as the reason of a refusal. */
  reason?: string;
}

/** Payload of the event `decided`. */
export interface ApprovalDecided extends ApprovalDecision {
  approvalId: string;
}

/** Events that decide on tool calls which need an approval. */
export interface ApprovalEvents {
  /** Event that asks for a decision. It is emitted once per call. */
  requested: EventRef<ApprovalRequest, unknown> | string;
  /** Event that brings the decision. Its `key` must be the payload's `approvalId`. */
  decided: EventRef<never, ApprovalDecided> | string;
  /** Time after which a call counts as refused, in milliseconds. @default waits without a limit */
  timeoutMs?: number;
}

/** Decides on a tool call in the process of the run. */
export type OnApproval = (request: ApprovalRequest) => ApprovalDecision | Promise<ApprovalDecision>;

/** Source of the decisions of a run and its delegates. */
export type Approver =
  | { readonly events: ApprovalEvents; readonly onApproval?: never }
  | { readonly onApproval: OnApproval; readonly events?: never };

/** Parsed decision: whatever is not an approval is a refusal. */
export function readDecision(value: unknown): ApprovalDecision {
  const { approved, reason } = Object(value) as { approved?: unknown; reason?: unknown };
  return { approved: approved === true, ...(typeof reason === 'string' && reason !== '' && { reason }) };
}

/** Returns the error that the model receives for a refused call. `null` is a decision that did not come in time. */
export function refusalOf(decision: ApprovalDecision | null, { name }: ToolCall): string {
  if (decision === null) return `not executed: nobody approved ${name} in time`;
  return `not executed: ${name} was refused${decision.reason === undefined ? '' : `: ${decision.reason}`}`;
}

/** Returns the error that the model receives for a call that no person can decide on: its request is no payload. */
export function tooLargeToAsk({ name }: ToolCall): string {
  return `not executed: the arguments of ${name} are too large to ask for an approval, or nested too deep; shorten them`;
}

/** Checks the `approvals` of a handler, a pipeline or a run. @throws {InvalidOptionError} */
export function checkApprovalOptions(approvals: ApprovalEvents | undefined, owner: string): void {
  if (approvals === undefined) return;
  const check = new OptionChecker(approvals, ['requested', 'decided', 'timeoutMs'], owner, 'approvals');
  check.required('requested', approvals.requested);
  check.required('decided', approvals.decided);
  check.durationMs('timeoutMs', approvals.timeoutMs, { min: 1 });
}
