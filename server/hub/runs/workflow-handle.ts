import type { RunRecord } from '../../transports/transport.js';
import { workflowType } from '../../transports/workflow-type.js';
import { UnknownRunError, WorkflowCancelledError, WorkflowFailedError } from '../errors.js';
import { createFollowUps } from '../events/follow-ups.js';
import type { HandlerHost } from '../events/outcome-recorder.js';
import { introspectRun, type RunIntrospection } from '../introspection/run-introspection.js';
import { countOutcome } from '../observability/count-outcome.js';
import type { HubWorkflow } from './workflow.js';

/** Handle of a workflow run. */
export interface WorkflowHandle {
  readonly runId: string;
  /**
   * Waits until the run ends and resolves with the output of its last step.
   *
   * @throws {WorkflowFailedError} if the run failed or was cancelled
   * @throws {UnknownRunError} if the record of the run was evicted
   * @throws {HubStoppedError} if the hub stops first
   */
  result(): Promise<unknown>;
  /** Returns the status of the run. @throws {UnknownRunError} */
  status(): Promise<RunIntrospection>;
  /**
   * Fails the run with a `WorkflowCancelledError`: aborts the running step and emits `onFailure` and `onComplete`.
   * Resolves with `false` if the run has already ended.
   */
  cancel(): Promise<boolean>;
}

/** Creates the handle of a run. @param stopped aborts when the hub stops */
export function createWorkflowHandle(
  workflow: HubWorkflow,
  runId: string,
  { transport, redactor }: Pick<HandlerHost, 'transport' | 'redactor'>,
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
      if (error !== undefined) throw new WorkflowFailedError(workflow.name, runId, redactor.recorded(error));
      return JSON.parse(result);
    },
    async status() {
      return introspectRun(workflow.steps, known(await transport.run(type, runId)), redactor);
    },
    async cancel() {
      const { envelope } = known(await transport.run(type, runId));
      const reason = new WorkflowCancelledError(workflow.name, runId);
      const error = redactor.info(reason);
      const followUps = createFollowUps(workflow.followUps, envelope, { status: 'failed', error });
      const outcome = { status: 'failed', error, durationMs: 0, followUps } as const;
      const isEnded = (await transport.endRun(type, runId, outcome, reason)) === 'ok';
      if (isEnded) countOutcome('failed', type, transport.service);
      return isEnded;
    },
  };
}
