import { describe, InvalidOptionError, quote } from '../../errors.js';
import { type HandlerInfo, withHandlerInfo } from '../../hub/events/agent-support/handler-info.js';
import type { HandlerFunction } from '../../hub/events/context.js';
import { skippedStep } from '../../hub/runs/definition/step-list.js';
import {
  createWorkflow,
  type HubWorkflow,
  type WorkflowStep,
  workflowOptions,
} from '../../hub/runs/definition/workflow.js';
import { OptionChecker } from '../../options.js';
import { type Agent, type AgentHandlerResult, isAgent } from '../agent/agent.js';
import type { ApprovalEvents } from '../approvals/approval.js';
import { checkApprovalOptions } from '../approvals/approval-options.js';
import { checkApprovers } from '../approvals/check-approvals.js';
import { AgentRegistry } from '../delegation/agent-registry.js';
import { UnknownAgentError } from '../errors.js';
import { introspectAgents, reachableSpecs } from '../handlers/agent-introspection.js';
import { handleWith } from '../handlers/as-handler.js';
import { shortenableResults } from '../handlers/shorten-result.js';
import {
  type AgentStep,
  areParallelResults,
  type ParallelResults,
  type ParallelStep,
  type PipelineConfig,
  type PipelineStep,
  pipelineInput,
} from './pipeline-step.js';

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
    const input = inputMapper === undefined ? pipelineInput(ctx.payload) : inputMapper(ctx.payload);
    if (typeof input !== 'string') {
      throw new InvalidOptionError(`the result of inputMapper of ${stepOwner}`, 'a string', input);
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
    check: (events) => checkApprovers(reachableSpecs(known()), approvals, owner, events),
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
