import type { Redactor } from '../../redactor.js';
import type { RunRecord, RunStatus } from '../../transports/transport.js';
import { firstAttempt, readCheckpoint } from '../runs/step-checkpoint.js';

/** Status of a step of a run. `retrying`: an attempt failed and the step is retried. */
export type StepStatus = 'waiting' | 'active' | 'retrying' | 'completed' | 'failed';

/** Step of a run. */
export interface StepIntrospection {
  readonly name: string;
  readonly status: StepStatus;
  /** Duration of the successful attempt; absent before it. */
  readonly durationMs?: number;
}

/** Run of a workflow, without its input and outputs. */
export interface RunIntrospection {
  readonly id: string;
  readonly service: string;
  readonly requestId: string;
  /** `waiting` before the first step and between attempts. */
  readonly status: RunStatus;
  /** Attempt at the current or failed step, from 1. */
  readonly attempt: number;
  /** Epoch milliseconds. */
  readonly acceptedAt: number;
  /** Epoch milliseconds; absent until the run ends. */
  readonly endedAt?: number;
  readonly error?: { readonly name: string; readonly message: string };
  readonly steps: readonly StepIntrospection[];
}

/** Returns the public part of a run. */
export function introspectRun(
  steps: readonly { readonly name: string }[],
  record: RunRecord,
  redactor: Redactor,
): RunIntrospection {
  const { id, service, envelope, status, acceptedAt, endedAt, checkpoints } = record;
  const error = record.error && redactor.recorded(record.error);
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
