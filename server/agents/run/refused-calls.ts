import type { ApprovalDecision } from '../approvals/approval.js';
import type { ToolCall } from '../model/message.js';
import { toErrorContent } from '../tools/tool-content.js';
import { type ExecutedCall, unknownEffect } from '../tools/tool-executor.js';

/** Decision on a call that waited until the code had no approvals any more. */
export const nobodyDecides: ApprovalDecision = {
  approved: false,
  reason: 'nobody can approve it any more; call it again if that is still necessary',
};

/** Returns the error of an interrupted call that needs approval now, and needed none when the model made it. */
export function changed({ name }: ToolCall): string {
  return `interrupted: ${unknownEffect}, and ${name} needs approval now; call it again if that is still necessary`;
}

/** Returns a call that is not executed. @param error error that the model receives */
export function refused({ id, name }: ToolCall, error: string): ExecutedCall {
  const result = { toolCallId: id, name, result: null, error, durationMs: 0 };
  return { result, content: toErrorContent(error), isInterrupted: false };
}

/** Returns why the calls of an answer must not be executed; `undefined` if they may be. */
export function refusalReason(isTruncated: boolean, isOverBudget: boolean): string | undefined {
  if (isOverBudget) return 'not executed: the token budget is used up';
  if (isTruncated) {
    return 'not executed: the answer reached its token limit, so its calls may be incomplete; request fewer calls at once';
  }
  return undefined;
}
