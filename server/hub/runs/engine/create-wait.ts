import type { RunWait } from '../../../transports/transport.js';
import { type AttemptedStep, isAttempted, type RequestedStep, type StepHost } from './requested-step.js';
import { entryKey, writeEntry } from './run-entry.js';

/** Returns `true` for a step that may start. One whose attempt failed is not ready before the time of its retry. */
export function isReady(step: RequestedStep): step is AttemptedStep {
  return isAttempted(step) && (step.failed === undefined || step.failed.isDue);
}

/**
 * Resolves with the wait for a step that is not ready. A step that cannot create its wait has failed: this is recorded,
 * and there is no wait.
 */
export async function createWait(run: StepHost, step: RequestedStep): Promise<RunWait | undefined> {
  const { workflow, delivery, host } = run;
  const { now } = host.transport.clock;
  const generation = delivery.envelope.replays;
  if (isAttempted(step)) {
    const { attempt = 1, retryAt = 0 } = step.failed ?? {};
    const key = entryKey({ role: 'retry', generation, id: step.id, attempt });
    return { key, delayMs: Math.max(0, retryAt - now()), isRetry: true };
  }
  const key = entryKey({ role: step.kind, generation, id: step.id, attempt: 0 });
  const startedAt = now();
  try {
    return await step.createWait(key);
  } catch (error) {
    const times = { attempt: 1, startedAt, durationMs: 0 };
    const entry = { version: workflow.version, delivery: delivery.attempt, ...times, error: host.redactor.info(error) };
    await run.record(key, writeEntry(entry));
    return undefined;
  }
}
