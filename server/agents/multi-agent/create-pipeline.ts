import type { StandardSchemaV1 } from '@standard-schema/spec';
import { describe, InvalidOptionError, quote } from '../../errors.js';
import type { HandlerFunction } from '../../hub/events/context.js';
import type { EventRef } from '../../hub/events/emit.js';
import type { JsonSchema } from '../../hub/events/payload-schema.js';
import { type HandlerInfo, withHandlerInfo } from '../../hub/events/reported-agents.js';
import {
  createWorkflow,
  type HubWorkflow,
  skippedStep,
  type UntypedWorkflowConfig,
  type WorkflowStep,
  workflowOptions,
} from '../../hub/runs/workflow.js';
import { OptionChecker } from '../../options.js';
import { type Agent, type AgentHandlerResult, isAgent } from '../agent/agent.js';
import { type ApprovalEvents, checkApprovalOptions } from '../agent/approval.js';
import { introspectAgents, reachableSpecs } from '../agent-spec.js';
import { checkAgents, handleWith, inputOf, partsOf } from '../as-handler.js';
import { UnknownAgentError } from '../errors.js';
import type { InputPart } from '../model/part.js';
import { shortenableResults } from '../shorten-result.js';
import { AgentRegistry } from './delegation.js';

/**
 * Creates a workflow in which each step runs an agent on the answer of the previous one. A step has the name of its
 * agent; if the agent occurs again, `name 2` and so on.
 *
 * Each result is stored before the next step starts, so an interrupted run does not repeat earlier agents. If the run
 * of an agent does not complete, the step fails with {@link AgentRunError}; the step's `retry` does not apply if turns
 * or tokens are used up. If a named agent is not registered, the step fails with {@link UnknownAgentError}. If an agent
 * of a `parallel` step fails, the run fails after the others have ended.
 *
 * @example
 * hub.workflow(
 *   createPipeline({
 *     name: 'article',
 *     trigger: topicChosen,
 *     registry,
 *     steps: [
 *       { parallel: [{ agent: researcher }, { agent: 'archivist' }] },
 *       { agent: writer },
 *       { agent: translator, when: () => languages.length > 1 },
 *     ],
 *   }),
 * );
 *
 * @throws {InvalidOptionError}
 */
export function createPipeline<TInput = unknown, TStart = TInput, TData = unknown>(
  config: Omit<PipelineConfig<TInput, TStart>, 'steps'> & {
    steps: readonly [...PipelineStep<NoInfer<TInput>>[], AgentStep<NoInfer<TInput>, TData> & { when?: never }];
  },
): HubWorkflow<TStart, AgentHandlerResult<TData>>;
/** Creates a pipeline that ends with a `parallel` step. */
export function createPipeline<TInput = unknown, TStart = TInput>(
  config: Omit<PipelineConfig<TInput, TStart>, 'steps'> & {
    steps: readonly [...PipelineStep<NoInfer<TInput>>[], ParallelStep<NoInfer<TInput>>];
  },
): HubWorkflow<TStart, ParallelResults>;
/** Creates a pipeline whose last step has `when`, or is known only at run time. */
export function createPipeline<TInput = unknown, TStart = TInput>(
  config: PipelineConfig<TInput, TStart>,
): HubWorkflow<TStart>;
// Callers see the types above: here every payload is unknown.
export function createPipeline(config: PipelineConfig): HubWorkflow<unknown, never> {
  if (typeof config !== 'object' || config === null)
    throw new InvalidOptionError('createPipeline', 'an object', config);
  const { steps, registry, approvals, ...workflow } = config;
  const owner = `pipeline ${describe(workflow.name)}`;
  const optionNames = [...workflowOptions, 'steps', 'registry', 'approvals'];
  const check = new OptionChecker(config, optionNames, owner);
  check.that(Array.isArray(steps) && steps.length > 0, 'steps', 'an array with at least one step', steps);
  check.that(registry === undefined || registry instanceof AgentRegistry, 'registry', 'an AgentRegistry', registry);
  checkApprovalOptions(approvals, owner);
  const pipeline = { registry, approvals, names: new Set<string>(), owner };
  const flat = steps.flatMap((step, stage) => toWorkflowSteps(step, stage, pipeline));
  // The result is that of the steps, which the types above describe.
  const created = createWorkflow({ ...workflow, steps: flat }) as HubWorkflow<unknown, never>;
  const run = async (scope: never): Promise<unknown> => {
    const result = await created.run(scope);
    // Each one is small enough for a payload, but not all together.
    return areParallelResults(result) ? shortenableResults(result) : result;
  };
  return { ...created, run };
}

/** Pipeline whose steps are created. */
interface Pipeline {
  readonly registry: AgentRegistry | undefined;
  readonly approvals: ApprovalEvents | undefined;
  /** Names of the steps so far. */
  readonly names: Set<string>;
  readonly owner: string;
}

function toWorkflowSteps(step: PipelineStep, stage: number, pipeline: Pipeline): WorkflowStep[] {
  const { owner } = pipeline;
  if (typeof step !== 'object' || step === null) throw new InvalidOptionError(`a step of ${owner}`, 'an object', step);
  if (!('parallel' in step)) return [toWorkflowStep(step, undefined, pipeline)];
  const { parallel } = step;
  const check = new OptionChecker(step, ['parallel'], `a parallel step of ${owner}`);
  check.that(Array.isArray(parallel) && parallel.length > 0, 'parallel', 'an array with at least one step', parallel);
  return parallel.map((member) => toWorkflowStep(member, stage, pipeline));
}

function toWorkflowStep(step: AgentStep, stage: number | undefined, pipeline: Pipeline): WorkflowStep {
  const { registry, approvals, names, owner } = pipeline;
  if (typeof step !== 'object' || step === null) throw new InvalidOptionError(`a step of ${owner}`, 'an object', step);
  const { agent, inputMapper, when, ...settings } = step;
  const find = agentSource(agent, registry, owner);
  const agentName = typeof agent === 'string' ? agent : agent.name;
  const name = uniqueName(agentName, names);
  const stepOwner = `step ${quote(name)} of ${owner}`;
  const check = new OptionChecker(step, ['agent', 'inputMapper', 'when', 'retry', 'timeoutMs'], stepOwner);
  check.function('inputMapper', inputMapper);
  check.function('when', when);
  const handler: HandlerFunction = async (ctx) => {
    const runs = when === undefined || when(ctx.payload);
    check.that(typeof runs === 'boolean', 'the result of when', 'true or false', runs);
    if (!runs) return skippedStep;
    const input =
      inputMapper === undefined ? (partsOf(ctx.payload) ?? pipelineInput(ctx.payload)) : inputMapper(ctx.payload);
    if (typeof input !== 'string' && !Array.isArray(input)) {
      throw new InvalidOptionError(`the result of inputMapper of ${stepOwner}`, 'a string or a list of parts', input);
    }
    const found = find();
    if (found === undefined) throw new UnknownAgentError(agentName, registry?.list().map((other) => other.name) ?? []);
    return handleWith(found, input, ctx, { approvals });
  };
  const known = (): Agent[] => [find()].filter((found) => found !== undefined);
  const info: HandlerInfo = {
    kind: 'agent',
    name: agentName,
    isDurable: true,
    isConditional: when !== undefined,
    agents: () => introspectAgents(known()),
    check: (events) => checkAgents(reachableSpecs(known()), approvals, owner, events),
    ...(stage !== undefined && { stage }),
  };
  return { ...settings, name, handler: withHandlerInfo(handler, info) };
}

function agentSource(agent: unknown, registry: AgentRegistry | undefined, owner: string): () => Agent | undefined {
  if (isAgent(agent)) return () => agent;
  if (typeof agent !== 'string' || agent === '') {
    throw new InvalidOptionError(`agent of a step of ${owner}`, 'an agent from createAgent, or the name of one', agent);
  }
  if (registry === undefined) {
    throw new InvalidOptionError(
      `registry of ${owner}`,
      `present if a step refers to its agent by name (${quote(agent)})`,
      registry,
    );
  }
  return () => registry.get(agent);
}

function uniqueName(name: string, taken: Set<string>): string {
  let unique = name;
  for (let count = 2; taken.has(unique); count += 1) unique = `${name} ${count}`;
  taken.add(unique);
  return unique;
}

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
  inputMapper?(payload: PipelinePayload<TInput>): string | readonly InputPart[];
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
function pipelineInput(payload: unknown): string {
  if (!areParallelResults(payload)) return inputOf(payload, ['input', 'output']);
  return JSON.stringify(Object.fromEntries(Object.entries(payload).map(([name, { output }]) => [name, output])));
}

/** Returns `true` for results of a {@link ParallelStep}. */
function areParallelResults(payload: unknown): payload is ParallelResults {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) return false;
  const results = Object.values(payload);
  return results.length > 0 && results.every(isResult);
}

function isResult(value: unknown): value is AgentHandlerResult {
  return typeof value === 'object' && value !== null && 'agentName' in value && 'output' in value && 'status' in value;
}
