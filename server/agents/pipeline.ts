import { describe, InvalidOptionError, quote } from '../errors.js';
import type { HandlerFunction } from '../hub/events/context.js';
import { followUpKeys } from '../hub/events/follow-ups.js';
import { withHandlerInfo } from '../hub/introspection/handler-info.js';
import { createWorkflow, type HubWorkflow, type WorkflowConfig, type WorkflowStep } from '../hub/runs/workflow.js';
import { checkOptionNames } from '../option-names.js';
import type { Agent } from './agent.js';
import { introspectAgents } from './agent-introspection.js';
import { AgentRegistry } from './agent-registry.js';
import { handleWith } from './as-handler.js';
import { UnknownAgentError } from './errors.js';
import { isAgent } from './is-agent.js';
import { inputOf } from './payload-input.js';

/** A stage of a pipeline: one run of one agent. */
export interface AgentStep extends Pick<WorkflowStep, 'retry' | 'timeoutMs'> {
  /** An agent, or the name of one that the `registry` has by the time the step runs. */
  agent: Agent | string;
  /**
   * Makes the agent's input of the step's payload: the pipeline's own for the first step, for a later one
   * the {@link AgentRunResult} of the step before. @default a string payload; its `input`, or else its
   * `output`, if that is a string; or the payload's JSON
   */
  inputMapper?: (payload: unknown) => string;
}

/** What `createPipeline` takes. */
export interface PipelineConfig extends Omit<WorkflowConfig, 'steps'> {
  /** One or more, run one after another. */
  steps: AgentStep[];
  /** Where agents that steps name are looked up. Needed only where one is named. */
  registry?: AgentRegistry;
}

/**
 * Makes a workflow of agents, each working on what the one before it answered. A step is named after its
 * agent; where an agent comes again, `name 2` and so on.
 *
 * Each result is kept before the next agent begins, so that a run that was interrupted pays for no
 * earlier agent again. A run of an agent that does not complete fails the step with an
 * {@link AgentRunError}, and the step's `retry`, if any, does not try turns or tokens that are used up again.
 * A named agent that is not registered fails it with {@link UnknownAgentError}.
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
  checkOptionNames(config, ['name', 'description', 'trigger', 'steps', 'registry', ...followUpKeys], owner);
  if (!Array.isArray(steps) || steps.length === 0) {
    throw new InvalidOptionError(`steps of ${owner}`, 'an array of one step or more', steps);
  }
  if (registry !== undefined && !(registry instanceof AgentRegistry)) {
    throw new InvalidOptionError(`registry of ${owner}`, 'an AgentRegistry', registry);
  }
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
  checkOptionNames(step, ['agent', 'inputMapper', 'retry', 'timeoutMs'], `step ${quote(name)} of ${owner}`);
  const mapper = `inputMapper of step ${quote(name)} of ${owner}`;
  if (inputMapper !== undefined && typeof inputMapper !== 'function') {
    throw new InvalidOptionError(mapper, 'a function', inputMapper);
  }
  const handler: HandlerFunction = async (ctx) => {
    const input = inputMapper === undefined ? inputOf(ctx.payload, ['input', 'output']) : inputMapper(ctx.payload);
    if (typeof input !== 'string') throw new InvalidOptionError(`the result of ${mapper}`, 'a string', input);
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
    throw new InvalidOptionError(`agent of a step of ${owner}`, 'what createAgent returns, or the name of one', agent);
  }
  if (registry === undefined) {
    throw new InvalidOptionError(
      `registry of ${owner}`,
      `given where a step names its agent (${quote(agent)})`,
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
