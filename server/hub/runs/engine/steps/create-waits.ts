import type { RunWait } from '../../../../transports/transport.js';
import { entryKey, writeEntry } from '../replay/run-entry.js';
import {
  type AttemptedStep,
  isAttempted,
  isTurn,
  type RequestedStep,
  type StepHost,
  type TurnStep,
  type WaitingStep,
} from './requested-step.js';

/** Returns `true` for a step that may start. One whose attempt failed is not ready before the time of its retry. */
export function isReady(step: RequestedStep): step is AttemptedStep | TurnStep {
  return isTurn(step) || (isAttempted(step) && (step.failed === undefined || step.failed.isDue));
}

/** Takes the steps that are not ready from the front of those that wait for their start, and creates their waits. */
export async function createWaits(run: StepHost): Promise<RunWait[]> {
  const { replay } = run;
  const waits: RunWait[] = [];
  for (let step = replay.held; step !== undefined && !isReady(step); step = replay.held) {
    replay.takeHeld();
    const wait = await createWait(run, step);
    if (wait !== undefined) waits.push(wait);
  }
  return waits;
}

/**
 * Resolves with the wait for a step that is not ready. A step that cannot create its wait has failed: this is recorded,
 * and there is no wait.
 */
async function createWait(run: StepHost, step: AttemptedStep | WaitingStep): Promise<RunWait | undefined> {
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
