import { describe, InvalidOptionError, quote } from '../../errors.js';
import type { HandlerFunction } from '../../hub/events/context.js';
import { withHandlerInfo } from '../../hub/introspection/handler-info.js';
import {
  createWorkflow,
  type HubWorkflow,
  type UntypedWorkflowConfig,
  type WorkflowStep,
  workflowOptions,
} from '../../hub/runs/workflow.js';
import { OptionChecker } from '../../options.js';
import { type Agent, isAgent } from '../agent/agent.js';
import { AgentRegistry } from '../delegation/agent-registry.js';
import { UnknownAgentError } from '../errors.js';
import { introspectAgents } from '../handlers/agent-introspection.js';
import { handleWith } from '../handlers/as-handler.js';
import { inputOf } from '../handlers/payload-input.js';

/** Step of a pipeline: one run of one agent. */
export interface AgentStep extends Pick<WorkflowStep, 'retry' | 'timeoutMs'> {
  /** Agent, or the name of an agent that is in the `registry` when the step runs. */
  agent: Agent | string;
  /**
   * Returns the agent's input. It receives the pipeline's payload in the first step, and the {@link AgentRunResult} of
   * the previous step in a later one. @default the payload if it is a string; else its `input` or `output`, whichever
   * is a string; else its JSON
   */
  inputMapper?: (payload: unknown) => string;
}

/** Options of `createPipeline`. */
export interface PipelineConfig extends Omit<UntypedWorkflowConfig, 'steps'> {
  /** One or more steps, run in order. */
  steps: AgentStep[];
  /** Registry of the agents that steps refer to by name. Required if a step does. */
  registry?: AgentRegistry;
}

/**
 * Creates a workflow in which each step runs an agent on the answer of the previous one. A step has the name of its
 * agent; if the agent occurs again, `name 2` and so on.
 *
 * Each result is stored before the next step starts, so an interrupted run does not repeat earlier agents. If the run
 * of an agent does not complete, the step fails with {@link AgentRunError}; the step's `retry` does not apply if turns
 * or tokens are used up. If a named agent is not registered, the step fails with {@link UnknownAgentError}.
 *
 * @example
 * hub.workflow(
 *   createPipeline({ name: 'article', trigger: 'topic.chosen', steps: [{ agent: writer }, { agent: 'critic' }], registry }),
 * );
 *
 * @throws {InvalidOptionError}
 */
export function createPipeline(config: PipelineConfig): HubWorkflow {
  if (typeof config !== 'object' || config === null)
    throw new InvalidOptionError('createPipeline', 'an object', config);
  const { steps, registry, ...workflow } = config;
  const owner = `pipeline ${describe(workflow.name)}`;
  const optionNames = [...workflowOptions, 'steps', 'registry'];
  const check = new OptionChecker(config, optionNames, owner);
  check.that(Array.isArray(steps) && steps.length > 0, 'steps', 'an array with at least one step', steps);
  check.that(registry === undefined || registry instanceof AgentRegistry, 'registry', 'an AgentRegistry', registry);
  const names = new Set<string>();
  return createWorkflow({ ...workflow, steps: steps.map((step) => toWorkflowStep(step, registry, names, owner)) });
}

function toWorkflowStep(
  step: AgentStep,
  registry: AgentRegistry | undefined,
  names: Set<string>,
  owner: string,
): WorkflowStep {
  if (typeof step !== 'object' || step === null) throw new InvalidOptionError(`a step of ${owner}`, 'an object', step);
  const { agent, inputMapper, ...settings } = step;
  const find = agentSource(agent, registry, owner);
  const agentName = typeof agent === 'string' ? agent : agent.name;
  const name = uniqueName(agentName, names);
  const stepOwner = `step ${quote(name)} of ${owner}`;
  const check = new OptionChecker(step, ['agent', 'inputMapper', 'retry', 'timeoutMs'], stepOwner);
  check.function('inputMapper', inputMapper);
  const handler: HandlerFunction = async (ctx) => {
    const input = inputMapper === undefined ? inputOf(ctx.payload, ['input', 'output']) : inputMapper(ctx.payload);
    if (typeof input !== 'string') {
      throw new InvalidOptionError(`the result of inputMapper of ${stepOwner}`, 'a string', input);
    }
    const found = find();
    if (found === undefined) throw new UnknownAgentError(agentName, registry?.list().map((other) => other.name) ?? []);
    return handleWith(found, input, ctx);
  };
  const agents = () => introspectAgents([find()].filter((found) => found !== undefined));
  return { ...settings, name, handler: withHandlerInfo(handler, { kind: 'agent', name: agentName, agents }) };
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
