import type { Redactor } from '../../redaction/redactor.js';
import { approvalsFirst } from '../../transports/run-record.js';
import type { RunRecord } from '../../transports/transport.js';
import { workflowOf } from '../../transports/workflow-type.js';
import { introspectRun, type StepIntrospection } from '../runs/run-introspection.js';

/** Open wait of a run. */
export interface WaitIntrospection {
  /** Id of the run: of the event, if an agent handles it. */
  readonly id: string;
  readonly kind: 'event' | 'workflow';
  /** Event type, or name of the workflow. */
  readonly type: string;
  readonly service: string;
  readonly requestId: string;
  /** Step that waits, with its `waitsFor`. */
  readonly step: StepIntrospection;
}

/** Open waits of runs. Result of `hub.waits()`. */
export interface WaitsIntrospection {
  /** Approvals first, the oldest first; then the others, the oldest first. At most 200. */
  readonly waits: readonly WaitIntrospection[];
  /** Number of all approvals that runs wait for. */
  readonly approvals: number;
  /** Number of all suspended runs. */
  readonly suspended: number;
  /** There are more waits than are listed. */
  readonly isTruncated: boolean;
}

/** Maximum number of runs per type that are read. */
export const maxWaitingRuns = 100;
const maxWaits = 200;

/** Lists the waits of runs. @param runs per type, at most {@link maxWaitingRuns} each */
export function introspectWaits(
  types: readonly string[],
  runs: readonly (readonly RunRecord[])[],
  totals: Pick<WaitsIntrospection, 'approvals' | 'suspended'>,
  redactor: Redactor,
): WaitsIntrospection {
  const waits = runs.flatMap((ofType, index) =>
    approvalsFirst(ofType).flatMap((run) => waitsOf(types[index] ?? '', run, redactor)),
  );
  waits.sort((a, b) => rank(a) - rank(b) || sinceOf(a) - sinceOf(b));
  const isTruncated = waits.length > maxWaits || runs.some((ofType) => ofType.length >= maxWaitingRuns);
  return { waits: waits.slice(0, maxWaits), ...totals, isTruncated };
}

function waitsOf(type: string, run: RunRecord, redactor: Redactor): WaitIntrospection[] {
  const { id, service, envelope } = run;
  const workflow = workflowOf(type);
  const kind = workflow === undefined ? 'event' : 'workflow';
  return introspectRun([], run, redactor)
    .steps.filter(({ waitsFor }) => waitsFor !== undefined)
    .map((step) => ({ id, kind, type: workflow ?? type, service, requestId: envelope.requestId, step }));
}

function rank({ step }: WaitIntrospection): number {
  return step.kind === 'approval' ? 0 : 1;
}

function sinceOf({ step }: WaitIntrospection): number {
  return step.waitsFor?.since ?? 0;
}
