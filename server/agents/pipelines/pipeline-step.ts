import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { JsonSchema } from '../../hub/events/payloads/schema.js';
import type { EventRef } from '../../hub/references/event-ref.js';
import type { UntypedWorkflowConfig, WorkflowStep } from '../../hub/runs/definition/workflow.js';
import type { Agent, AgentHandlerResult } from '../agent/agent.js';
import type { ApprovalEvents } from '../approvals/approval.js';
import type { AgentRegistry } from '../delegation/agent-registry.js';
import { inputOf } from '../handlers/payload-input.js';

/** Results of a {@link ParallelStep} by step name, without those of skipped steps. */
export type ParallelResults = Readonly<Record<string, AgentHandlerResult>>;

/**
 * Payload of a step: the input of the run for the first step, and the result of the previous step that was not skipped
 * for a later one. `unknown` if the input is.
 */
export type PipelinePayload<TInput = unknown> = TInput | AgentHandlerResult | ParallelResults;

/** Step of a pipeline: one run of one agent. */
export interface AgentStep<TInput = unknown, TData = unknown> extends Pick<WorkflowStep, 'retry' | 'timeoutMs'> {
  /** Agent, or the name of an agent that is in the `registry` when the step runs. */
  agent: Agent<TData> | string;
  /**
   * Returns the agent's input. @default the payload if it is a string; else its `input` or `output`, whichever is a
   * string; after a `parallel` step the JSON of the outputs by step name; else the payload's JSON
   */
  // A method, so that a step with a narrower payload is assignable.
  inputMapper?(payload: PipelinePayload<TInput>): string;
  /**
   * Returns `false` to skip the step: its agent does not run, and the next step receives the payload of this one. The
   * answer is recorded with the step, so that an interrupted run does not ask again. @default every run has the step
   */
  when?(payload: PipelinePayload<TInput>): boolean;
}

/** Step of a pipeline whose agents run at the same time, on the same payload. */
export interface ParallelStep<TInput = unknown> {
  /** One or more steps. The next step receives their {@link ParallelResults}. */
  parallel: readonly AgentStep<TInput>[];
}

/** Step of a pipeline. */
export type PipelineStep<TInput = unknown> = AgentStep<TInput> | ParallelStep<TInput>;

/** Options of `createPipeline`. */
export interface PipelineConfig<TInput = unknown, TStart = TInput>
  extends Omit<UntypedWorkflowConfig, 'steps' | 'input' | 'trigger'> {
  /** Schema of the input: a Standard Schema, such as one of Zod, or a JSON Schema. */
  input?: StandardSchemaV1<TStart, TInput> | JsonSchema;
  /** Event type that starts a run. The event's payload is the run's input. */
  trigger?: EventRef<never, TInput> | string;
  /** One or more steps, run in order. */
  steps: readonly PipelineStep<NoInfer<TInput>>[];
  /** Registry of the agents that steps refer to by name. Required if a step does. */
  registry?: AgentRegistry;
  /**
   * Events that decide on calls of tools that need approval, see {@link AgentHandlerOptions.approvals}. Required if an
   * agent has such tools. @default none
   */
  approvals?: ApprovalEvents;
}

/** Returns the default input of an agent. */
export function pipelineInput(payload: unknown): string {
  if (!areParallelResults(payload)) return inputOf(payload, ['input', 'output']);
  return JSON.stringify(Object.fromEntries(Object.entries(payload).map(([name, { output }]) => [name, output])));
}

/** Returns `true` for results of a {@link ParallelStep}. */
export function areParallelResults(payload: unknown): payload is ParallelResults {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) return false;
  const results = Object.values(payload);
  return results.length > 0 && results.every(isResult);
}

function isResult(value: unknown): value is AgentHandlerResult {
  return typeof value === 'object' && value !== null && 'agentName' in value && 'output' in value && 'status' in value;
}
