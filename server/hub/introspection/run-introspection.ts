import type { RunRecord, RunStatus } from '../../transports/transport.js';
import { firstAttempt, readCheckpoint } from '../runs/step-checkpoint.js';

/** Where a step of a run stands. `retrying`: it failed and is tried again. */
export type StepStatus = 'waiting' | 'active' | 'retrying' | 'completed' | 'failed';

/** A step of a run. */
export interface StepIntrospection {
  readonly name: string;
  readonly status: StepStatus;
  /** Of the attempt that succeeded; absent before. */
  readonly durationMs?: number;
}

/** A run of a workflow: neither its input nor what its steps returned. */
export interface RunIntrospection {
  readonly id: string;
  readonly service: string;
  readonly requestId: string;
  /** `waiting` before a step begins, and between attempts. */
  readonly status: RunStatus;
  /** Of the step that runs, waits or failed; from 1. */
  readonly attempt: number;
  /** Epoch milliseconds. */
  readonly acceptedAt: number;
  /** Epoch milliseconds; absent while the run goes on. */
  readonly endedAt?: number;
  readonly error?: { readonly name: string; readonly message: string };
  readonly steps: readonly StepIntrospection[];
}

/** What may be shown of a run. */
export function introspectRun(steps: readonly { readonly name: string }[], record: RunRecord): RunIntrospection {
  const { id, service, envelope, status, acceptedAt, endedAt, error, checkpoints } = record;
  const current = steps.find(({ name }) => !checkpoints.has(name));
  const attempt = record.attempt - firstAttempt(checkpoints, envelope.replays) + 1;
  return {
    id,
    service,
    requestId: envelope.requestId,
    status,
    attempt,
    acceptedAt,
    ...(endedAt !== undefined && { endedAt }),
    ...(error !== undefined && { error: { name: error.name, message: error.message } }),
    steps: steps.map((step) => {
      const checkpoint = checkpoints.get(step.name);
      if (checkpoint !== undefined) {
        return { name: step.name, status: 'completed', durationMs: readCheckpoint(checkpoint).durationMs };
      }
      return { name: step.name, status: step === current ? currentStatus(status, attempt) : 'waiting' };
    }),
  };
}

function currentStatus(status: RunStatus, attempt: number): StepStatus {
  if (status === 'failed' || status === 'active') return status;
  return attempt > 1 ? 'retrying' : 'waiting';
}
