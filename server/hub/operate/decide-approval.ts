import { OptionChecker } from '../../options.js';
import { NoApprovalError } from '../errors.js';
import type { EventDetails } from '../introspection/event-search.js';
import { type ActionOptions, actionOptionNames, checkActor } from './audit.js';

/** Options of `hub.decide`. */
export interface DecisionOptions extends ActionOptions {
  /** `true` approves the call, `false` refuses it. */
  approved: boolean;
  /** Step that waits, if the run waits for several approvals. @default the only one */
  step?: string;
  /** Approval that is meant, as an `ApprovalRequest` and a chat name it, in place of `step`. */
  approvalId?: string;
  /** Reason, which the model receives, and with `by` the audit too; 1 to 512 characters. */
  reason?: string;
}

/** Call of a tool that waits for an approval. */
export interface OpenApproval {
  readonly step: string;
  /** Event that brings the decision. */
  readonly type: string;
  readonly approvalId: string;
}

/** @throws {InvalidOptionError} */
export function checkDecision(options: DecisionOptions): void {
  const check = new OptionChecker(options, ['approved', 'step', 'approvalId', ...actionOptionNames], 'decide');
  const { approved, step, approvalId, by, reason, via } = options;
  check.required('approved', approved);
  check.boolean('approved', approved);
  check.name('step', step);
  check.name('approvalId', approvalId);
  check.that(step === undefined || approvalId === undefined, 'approvalId', 'omitted if step is set', approvalId);
  check.name('reason', reason);
  checkActor(check, { ...(by !== undefined && { by }), ...(via !== undefined && { via }) });
}

/** Returns the approval that a run waits for. @throws {NoApprovalError} unless exactly one is meant */
export function findApproval(
  runId: string,
  found: readonly EventDetails[],
  { step, approvalId }: Pick<DecisionOptions, 'step' | 'approvalId'>,
): OpenApproval {
  const all = found.flatMap(approvalsOf);
  const isMeant = (one: OpenApproval): boolean =>
    (step ?? one.step) === one.step && (approvalId ?? one.approvalId) === one.approvalId;
  const [meant, ...others] = all.filter(isMeant);
  if (meant === undefined || others.length > 0) {
    throw new NoApprovalError(runId, step ?? approvalId, others.length > 0 ? all.map((one) => one.step) : []);
  }
  return meant;
}

function approvalsOf({ steps = [] }: EventDetails): OpenApproval[] {
  return steps.flatMap(({ name, kind, status, waitsFor }) => {
    const { type, key } = waitsFor?.event ?? {};
    const isOpen = kind === 'approval' && status === 'waiting' && type !== undefined && key !== undefined;
    return isOpen ? { step: name, type, approvalId: key } : [];
  });
}
