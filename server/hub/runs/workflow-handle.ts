import { checkName } from '../../options.js';
import type { Redactor } from '../../redaction.js';
import { workflowType } from '../../transports/delivery.js';
import type { RunRecord } from '../../transports/event-record.js';
import type { TransportManager } from '../../transports/transport.js';
import { RunErasedError, UnknownRunError, WorkflowCancelledError, WorkflowFailedError } from '../errors.js';
import { createFollowUps } from '../events/follow-ups.js';
import { countOutcome } from '../observability.js';
import { introspectRun, type RunIntrospection } from './run-introspection.js';
import type { AnyWorkflow } from './workflow.js';

/** Handle of a workflow run. */
export interface WorkflowHandle<TResult = unknown> {
  readonly runId: string;
  /**
   * Waits until the run ends and resolves with its result.
   *
   * @throws {WorkflowFailedError} if the run failed or was cancelled
   * @throws {UnknownRunError} if the record of the run was evicted
   * @throws {RunErasedError} if `hub.erase` removed the result
   * @throws {HubStoppedError} if the hub stops first
   */
  result(): Promise<TResult>;
  /** Returns the status of the run. @throws {UnknownRunError} */
  status(): Promise<RunIntrospection>;
  /**
   * Fails the run, and the child runs that it waits for, with a `WorkflowCancelledError`: aborts running steps and emits
   * `onFailure` and `onComplete`. Resolves with `false` if the run has already ended.
   *
   * @param reason part of the error's message, 1 to 512 characters
   * @throws {InvalidOptionError} if the reason is not valid
   * @throws {UnknownRunError} if the record of the run was evicted
   */
  cancel(reason?: string): Promise<boolean>;
}

/** Parts of a hub that a handle uses. */
export interface HandleParts {
  readonly transport: Pick<TransportManager, 'service' | 'runs'>;
  readonly redactor: Redactor;
  /** Aborts when the hub stops. */
  readonly stopped: AbortSignal;
}

/** Creates the handle of a run. */
export function createWorkflowHandle<TResult>(
  workflow: AnyWorkflow,
  runId: string,
  { transport, redactor, stopped }: HandleParts,
): WorkflowHandle<TResult> {
  const type = workflowType(workflow.name);

  function known(record: RunRecord | undefined): RunRecord {
    if (record === undefined) throw new UnknownRunError(workflow.name, runId);
    return record;
  }

  return {
    runId,
    async result() {
      const { error, result } = known(await transport.runs.ended(type, runId, stopped));
      if (error !== undefined) throw new WorkflowFailedError(workflow.name, runId, redactor.recorded(error));
      if (result === undefined) throw new RunErasedError(workflow.name, runId);
      // The workflow's type promises what its function returns.
      return JSON.parse(result) as TResult;
    },
    async status() {
      return introspectRun(workflow.steps, known(await transport.runs.getSince(type, runId, 0)), redactor);
    },
    async cancel(because) {
      if (because !== undefined) checkName(because, 'reason of cancel');
      const { envelope } = known(await transport.runs.get(type, runId));
      const reason = new WorkflowCancelledError(workflow.name, runId, because);
      const error = redactor.info(reason);
      const followUps = createFollowUps(transport.service, workflow.followUps, envelope, { status: 'failed', error });
      const outcome = { status: 'failed', cancelled: true, error, durationMs: 0, followUps } as const;
      const isEnded = (await transport.runs.end(type, runId, outcome, reason)) === 'ok';
      if (isEnded) countOutcome('failed', type, transport.service);
      return isEnded;
    },
  };
}
