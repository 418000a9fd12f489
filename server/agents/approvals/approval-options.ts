import { OptionChecker } from '../../options.js';
import type { ApprovalEvents } from './approval.js';

/** Checks the `approvals` of a handler, a pipeline or a run. @throws {InvalidOptionError} */
export function checkApprovalOptions(approvals: ApprovalEvents | undefined, owner: string): void {
  if (approvals === undefined) return;
  const check = new OptionChecker(approvals, ['requested', 'decided', 'timeoutMs'], owner, 'approvals');
  check.required('requested', approvals.requested);
  check.required('decided', approvals.decided);
  check.durationMs('timeoutMs', approvals.timeoutMs, { min: 1 });
}
