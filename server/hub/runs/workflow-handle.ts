import { checkName } from '../../options.js';
import type { Redactor } from '../../redaction.js';
import { workflowType } from '../../transports/delivery.js';
import type { RunRecord } from '../../transports/event-record.js';
import type { RunStore } from '../../transports/transport.js';
import { RunErasedError, UnknownRunError, WorkflowCancelledError, WorkflowFailedError } from '../errors.js';
import { createFollowUps, type FollowUpNames } from '../events/follow-ups.js';
import { countOutcome } from '../observability.js';
import { introspectRun, type ListedStep, type RunIntrospection } from './run-introspection.js';
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

/** Run of a handle. */
export interface HandledRun {
  readonly workflow: string;
  readonly runId: string;
  /** Service that has the run; `undefined` if it is to be found. */
  readonly service: string | undefined;
  /** The workflow, if this hub registered it and runs it. */
  readonly registered: Pick<AnyWorkflow, 'steps' | 'followUps'> | undefined;
}

/** Services that run workflows, as far as the transport knows them. */
export interface RunServices {
  /** Returns the service that has a run. @throws {UnknownRunError} */
  serviceOfRun(workflow: string, runId: string): Promise<string>;
  /** Returns the steps of a list and the follow-ups of a workflow; `undefined` if the service did not register it. */
  describe(
    workflow: string,
    service: string,
  ): Promise<(FollowUpNames & { readonly steps: readonly ListedStep[] }) | undefined>;
  /** Returns the error of a run that its service does not have. */
  unknownRun(workflow: string, runId: string, service: string): Promise<UnknownRunError>;
}

/** Parts of a hub that a handle uses. */
export interface HandleParts {
  readonly runs: RunStore;
  readonly services: RunServices;
  readonly redactor: Redactor;
  /** Aborts when the hub stops. */
  readonly stopped: AbortSignal;
}

/** Creates the handle of a run. */
export function createWorkflowHandle<TResult>(
  { workflow, runId, service, registered }: HandledRun,
  { runs, services, redactor, stopped }: HandleParts,
): WorkflowHandle<TResult> {
  const type = workflowType(workflow);
  let found = service;

  async function findService(): Promise<string> {
    found ??= await services.serviceOfRun(workflow, runId);
    return found;
  }

  async function known(record: RunRecord | undefined): Promise<RunRecord> {
    if (record !== undefined) return record;
    throw registered === undefined
      ? await services.unknownRun(workflow, runId, await findService())
      : new UnknownRunError(workflow, runId);
  }

  return {
    runId,
    async result() {
      const { error, result } = await known(await runs.ended(type, runId, stopped, await findService()));
      if (error !== undefined) throw new WorkflowFailedError(workflow, runId, redactor.recorded(error));
      if (result === undefined) throw new RunErasedError(workflow, runId);
      // The workflow's type promises what its function returns.
      return JSON.parse(result) as TResult;
    },
    async status() {
      const of = await findService();
      const record = await known(await runs.getSince(type, runId, 0, of));
      const { steps = [] } = registered ?? (await services.describe(workflow, of)) ?? {};
      return introspectRun(steps, record, redactor);
    },
    async cancel(because) {
      if (because !== undefined) checkName(because, 'reason of cancel');
      const of = await findService();
      const { envelope } = await known(await runs.get(type, runId, of));
      const reason = new WorkflowCancelledError(workflow, runId, because);
      const error = redactor.info(reason);
      const names = registered?.followUps ?? (await services.describe(workflow, of)) ?? {};
      const followUps = createFollowUps(of, names, envelope, { status: 'failed', error });
      const outcome = { status: 'failed', cancelled: true, error, durationMs: 0, followUps } as const;
      const isEnded = (await runs.end(type, runId, outcome, reason, of)) === 'ok';
      if (isEnded) countOutcome('failed', type, of);
      return isEnded;
    },
  };
}
