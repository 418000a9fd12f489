import { errorInfo } from '../../errors.js';
import type { RunRecord, TransportManager } from '../../transports/transport.js';
import { workflowType } from '../../transports/workflow-type.js';
import { UnknownRunError, WorkflowCancelledError, WorkflowFailedError } from '../errors.js';
import { followUps } from '../events/follow-ups.js';
import { introspectRun, type RunIntrospection } from '../introspection/run-introspection.js';
import { countOutcome } from '../observability/count-outcome.js';
import type { HubWorkflow } from './workflow.js';

/** A started run of a workflow. */
export interface WorkflowHandle {
  readonly runId: string;
  /**
   * Waits for the end and resolves with what the last step returned.
   *
   * @throws {WorkflowFailedError} where the run failed or was cancelled
   * @throws {UnknownRunError} where its end is forgotten
   * @throws {HubStoppedError} where the hub stops first
   */
  result(): Promise<unknown>;
  /** Where the run stands. @throws {UnknownRunError} */
  status(): Promise<RunIntrospection>;
  /**
   * Ends the run as failed with a `WorkflowCancelledError`: aborts the step that runs, and emits
   * `onFailure` and `onComplete`. `false` where it has ended already.
   */
  cancel(): Promise<boolean>;
}

/** @param stopped aborts when the hub stops */
export function workflowHandle(
  workflow: HubWorkflow,
  runId: string,
  transport: TransportManager,
  stopped: AbortSignal,
): WorkflowHandle {
  const type = workflowType(workflow.name);

  function known(record: RunRecord | undefined): RunRecord {
    if (record === undefined) throw new UnknownRunError(workflow.name, runId);
    return record;
  }

  return {
    runId,
    async result() {
      const { error, result = 'null' } = known(await transport.runEnded(type, runId, stopped));
      if (error !== undefined) throw new WorkflowFailedError(workflow.name, runId, error);
      return JSON.parse(result);
    },
    async status() {
      return introspectRun(workflow.steps, known(await transport.run(type, runId)));
    },
    async cancel() {
      const { envelope } = known(await transport.run(type, runId));
      const reason = new WorkflowCancelledError(workflow.name, runId);
      const error = errorInfo(reason);
      const following = followUps(workflow.followUps, envelope, { status: 'failed', error });
      const outcome = { status: 'failed', error, durationMs: 0, followUps: following } as const;
      const isEnded = (await transport.endRun(type, runId, outcome, reason)) === 'ok';
      if (isEnded) countOutcome('failed', type, transport.service);
      return isEnded;
    },
  };
}
