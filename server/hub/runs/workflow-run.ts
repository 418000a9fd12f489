import type { Delivery } from '../../transports/transport.js';
import { WorkflowVersionError } from '../errors.js';
import { type CallCallbacks, HandlerCall } from '../events/handler-call.js';
import { type HandlerHost, OutcomeRecorder, preflightError } from '../events/outcome-recorder.js';
import { encodePayload } from '../events/payload.js';
import { startStep } from '../observability/observe-step.js';
import { checkpointOutput, firstAttempt, readCheckpoint, stepsOf, writeCheckpoint } from './step-checkpoint.js';
import { StepContext } from './step-context.js';
import type { HubWorkflow, ResolvedStep } from './workflow.js';

// Applies if the transport fails to write a checkpoint.
const checkpointRetry = { maxAttempts: Number.POSITIVE_INFINITY, initialDelayMs: 1_000 };

/**
 * Resumes a workflow run after its last checkpoint. Runs each step, checkpoints its output, then starts the next step.
 * The retry of a step ends the delivery; the next delivery resumes at the same step.
 */
export function runWorkflow(workflow: HubWorkflow, delivery: Delivery, host: HandlerHost): void {
  const { name, steps, followUps } = workflow;
  const { checkpoints, attempt: deliveryAttempt } = delivery;
  const { replays } = delivery.envelope;
  const recorder = new OutcomeRecorder('workflow', name, followUps, delivery, host);
  const definition = stepsOf(workflow);
  /** Outputs of completed steps, as JSON. */
  const outputs = new Map<string, string>();
  let attemptAtStart = firstAttempt(checkpoints, replays);
  let call: HandlerCall | undefined;
  let isRevoked = false;

  const refusal = preflightError(name, delivery);
  if (refusal !== undefined) {
    recorder.fail(refusal);
    return;
  }
  for (const [step, value] of checkpoints) {
    const checkpoint = readCheckpoint(value);
    if (checkpoint.definition !== definition) {
      recorder.fail(new WorkflowVersionError(name, checkpoint.definition, definition));
      return;
    }
    outputs.set(step, checkpointOutput(value));
  }
  delivery.onRevoked = (reason) => {
    isRevoked = true;
    call?.cancel(reason);
  };
  runNext();

  function runNext(): void {
    const step = steps.find((candidate) => !outputs.has(candidate.name));
    if (step === undefined) recorder.complete([...outputs.values()].at(-1) ?? 'null');
    else run(step);
  }

  function run(step: ResolvedStep): void {
    const attempt = deliveryAttempt - attemptAtStart + 1;
    const { clock } = host.transport;
    const startedAt = clock.monotonic();
    const callbacks: CallCallbacks = {
      onReturn: (value) => void checkpoint(step, value, clock.monotonic() - startedAt),
      onThrow: (error) => recorder.retryOrFail(error, step.retry, attempt),
    };
    const operation = startStep(name, step.name, attempt);
    call = new HandlerCall(`${name}: ${step.name}`, step.timeoutMs, clock, callbacks, operation);
    const context = new StepContext(workflow, step, { delivery, attempt, outputs }, host);
    call.invoke(step.handler, context);
  }

  async function checkpoint(step: ResolvedStep, value: unknown, durationMs: number): Promise<void> {
    let output: string;
    try {
      output = encodePayload(value ?? null, name, host.maxPayloadBytes, `output of step ${step.name}`);
    } catch (error) {
      recorder.fail(error);
      return;
    }
    try {
      const checkpoint = writeCheckpoint({ definition, attempt: deliveryAttempt, replays, durationMs }, output);
      const result = await delivery.checkpoint(step.name, checkpoint);
      // `already` answers a resent write. If the lease was lost instead, the next write is fenced.
      if (result === 'fenced' || isRevoked) return;
    } catch (error) {
      recorder.retryOrFail(error, { ...checkpointRetry, maxDelayMs: 1_000, factor: 1, jitter: false }, 1);
      return;
    }
    outputs.set(step.name, output);
    attemptAtStart = deliveryAttempt;
    runNext();
  }
}
