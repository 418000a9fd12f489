import type { Delivery } from '../../transports/transport.js';
import { WorkflowVersionError } from '../errors.js';
import { type CallEnd, HandlerCall } from '../events/handler-call.js';
import { Conclusion, type DeliveryHost, refusalOf } from '../events/outcome-recorder.js';
import { encodePayload } from '../events/payload.js';
import { startStep } from '../observability/observe-step.js';
import { checkpointOutput, firstAttempt, readCheckpoint, stepsOf, writeCheckpoint } from './step-checkpoint.js';
import { StepContext } from './step-context.js';
import type { HubWorkflow, ResolvedStep } from './workflow.js';

// After a checkpoint that the transport could not write.
const checkpointRetry = { maxAttempts: Number.POSITIVE_INFINITY, initialDelayMs: 1_000 };

/**
 * Takes a workflow's run on from its last checkpoint: each step is run, its output checkpointed, then
 * the next begins. A step's retry ends the delivery; the next one comes back to the same step.
 */
export function runWorkflow(workflow: HubWorkflow, delivery: Delivery, host: DeliveryHost): void {
  const { name, steps, followUps } = workflow;
  const { checkpoints, attempt: deliveryAttempt } = delivery;
  const { replays } = delivery.envelope;
  const conclusion = new Conclusion('workflow', name, followUps, delivery, host);
  const definition = stepsOf(workflow);
  /** JSON of each finished step's output. */
  const outputs = new Map<string, string>();
  let attemptAtStart = firstAttempt(checkpoints, replays);
  let call: HandlerCall | undefined;
  let isRevoked = false;

  const refusal = refusalOf(name, delivery);
  if (refusal !== undefined) {
    conclusion.giveUp(refusal);
    return;
  }
  for (const [step, value] of checkpoints) {
    const checkpoint = readCheckpoint(value);
    if (checkpoint.definition !== definition) {
      conclusion.giveUp(new WorkflowVersionError(name, checkpoint.definition, definition));
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
    if (step === undefined) conclusion.complete([...outputs.values()].at(-1) ?? 'null');
    else run(step);
  }

  function run(step: ResolvedStep): void {
    const attempt = deliveryAttempt - attemptAtStart + 1;
    const { clock } = host.transport;
    const startedAt = clock.monotonic();
    const end: CallEnd = {
      onReturn: (value) => void checkpoint(step, value, clock.monotonic() - startedAt),
      onThrow: (error) => conclusion.fail(error, step.retry, attempt),
    };
    const operation = startStep(name, step.name, attempt);
    call = new HandlerCall(`${name}: ${step.name}`, step.timeoutMs, clock, end, operation);
    const context = new StepContext(workflow, step, { delivery, attempt, outputs }, host);
    call.invoke(step.handler, context);
  }

  async function checkpoint(step: ResolvedStep, value: unknown, durationMs: number): Promise<void> {
    let output: string;
    try {
      output = encodePayload(value ?? null, name, host.maxPayloadBytes, `output of step ${step.name}`);
    } catch (error) {
      conclusion.giveUp(error);
      return;
    }
    try {
      const checkpoint = writeCheckpoint({ definition, attempt: deliveryAttempt, replays, durationMs }, output);
      const result = await delivery.checkpoint(step.name, checkpoint);
      // `already` is an answer to a write that was sent twice, or the lease is gone: then the next one is fenced.
      if (result === 'fenced' || isRevoked) return;
    } catch (error) {
      conclusion.fail(error, { ...checkpointRetry, maxDelayMs: 1_000, factor: 1, jitter: false }, 1);
      return;
    }
    outputs.set(step.name, output);
    attemptAtStart = deliveryAttempt;
    runNext();
  }
}
