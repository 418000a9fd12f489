import { InvalidOptionError, messageOf, quote } from '../../errors.js';
import type { HandlerCtx } from '../../hub/events/context.js';
import { OptionChecker } from '../../options.js';
import type { Logger } from '../../transports/transport.js';
import { type Agent, type AgentRunOptions, isAgent, type ModelAgent } from '../agent/agent.js';
import { type AgentContext, contextWithMeter, type Lineage, lineageOf, meterOf } from '../agent/agent-context.js';
import type { TurnStart } from '../agent/hooks.js';
import type { AgentRunResult } from '../agent/run-result.js';
import {
  DelegationCycleError,
  DelegationDepthError,
  DelegationLimitError,
  DuplicateAgentError,
  DuplicateToolError,
  NoRegistryError,
  UnknownAgentError,
} from '../errors.js';
import type { ToolDefinition } from '../model/message.js';
import { type SpendingLimits, SpendingMeter, TokenLedger, type UsageListener } from '../model/token-ledger.js';
import { type CallSpending, noUsage, reportedUsage, usageSince } from '../model/token-usage.js';
import type { Tool } from '../tools/tool.js';
import { Handoff } from '../tools/tool-executor.js';
import { ToolList, ToolRegistry } from '../tools/tool-registry.js';

/** Options of {@link AgentRegistry.register}. */
export interface RegistrationOptions {
  /**
   * Other agents hand the conversation over to the agent, with the tool `handoff`: it continues the same run in their
   * place. Otherwise they delegate tasks to it, and continue with its answer. @default false
   */
  handoff?: boolean;
}

/**
 * Agents that can delegate to each other. Agents can be registered at any time; each run offers its model the agents
 * that are registered when the run starts.
 *
 * @example
 * const registry = createAgentRegistry();
 * registry.register(createAgent({ name: 'researcher', description: 'Finds facts', ... }));
 * const editor = createAgent({ name: 'editor', registry, ... });
 */
export class AgentRegistry {
  readonly #agents = new Map<string, Agent>();
  readonly #takers = new Set<string>();

  /** Registers an agent. @throws {InvalidOptionError | DuplicateAgentError} */
  register(agent: Agent): void;
  /**
   * Registers an agent of {@link createAgent} that can take conversations over.
   *
   * @throws {InvalidOptionError | DuplicateAgentError}
   */
  register(agent: ModelAgent, options: RegistrationOptions): void;
  register(agent: Agent, options: RegistrationOptions = {}): void {
    if (!isAgent(agent)) throw new InvalidOptionError('agent', 'an agent from createAgent', agent);
    new OptionChecker(options, ['handoff'], `agent ${quote(agent.name)}`).boolean('handoff', options.handoff);
    if (this.#agents.has(agent.name)) throw new DuplicateAgentError(agent.name);
    this.#agents.set(agent.name, agent);
    if (options.handoff === true) this.#takers.add(agent.name);
  }

  /** Returns `true` if the agent of this name takes conversations over. */
  takesOver(name: string): boolean {
    return this.#takers.has(name);
  }

  /** Returns the agent of this name, or `undefined`. */
  get(name: string): Agent | undefined {
    return this.#agents.get(name);
  }

  /** Returns `true` if an agent of this name is registered. */
  has(name: string): boolean {
    return this.#agents.has(name);
  }

  /** Returns all agents in order of registration. */
  list(): Agent[] {
    return [...this.#agents.values()];
  }
}

/** Creates an empty registry. */
export function createAgentRegistry(): AgentRegistry {
  return new AgentRegistry();
}

/** Agent that delegates. */
interface Delegator {
  readonly name: string;
  readonly registry: AgentRegistry | undefined;
}

/**
 * Runs another agent on `input` as part of the run of `ctx`: it shares budget, signal and `requestId`, and has its own
 * run id.
 */
export async function delegateFrom(
  { name: from, registry }: Delegator,
  ctx: AgentContext,
  agentName: string,
  input: string,
): Promise<AgentRunResult> {
  if (registry === undefined) throw new NoRegistryError(from);
  const delegate = registry.get(agentName);
  if (delegate === undefined) {
    const others = registry.list().map(({ name }) => name);
    throw new UnknownAgentError(
      agentName,
      others.filter((name) => name !== from),
    );
  }
  return runWithin(ctx, delegate, input);
}

/**
 * Runs an agent as part of the run of `ctx`. The calls of an agent from `createAgent` are counted there as they are
 * made; what an agent of another kind reports in its result, and nobody counted, is added.
 */
export async function runWithin(
  ctx: AgentContext,
  agent: Agent,
  input: string,
  options: AgentRunOptions = {},
): Promise<AgentRunResult> {
  const outer = meterOf(ctx);
  const meter = new SpendingMeter(noUsage(), (spending) => outer?.add(spending));
  const result = await agent.run(input, { ...options, hubCtx: contextWithMeter(ctx, meter) });
  const reported = reportedUsage(result.tokenUsage);
  if (reported === undefined || reported.totalTokens <= meter.spent.totalTokens) return result;
  const ledger = new TokenLedger({}, lineageOf(ctx)?.ledger, [], undefined, outer);
  await ledger.charge(usageSince(reported, meter.spent));
  return result;
}

/**
 * Checks that an agent may run as part of another agent's run, started by `delegate` or with the `hubCtx` of a tool.
 *
 * @throws {DelegationCycleError | DelegationDepthError | DelegationLimitError}
 */
export function checkDescent(parent: Lineage | undefined, agentName: string): void {
  if (parent === undefined) return;
  const { chain, limits } = parent;
  if (chain.includes(agentName)) throw new DelegationCycleError([...chain, agentName]);
  if (limits === undefined) return;
  if (chain.length > limits.maxDepth) throw new DelegationDepthError(agentName, limits.maxDepth);
  if (limits.runs >= limits.maxRuns) throw new DelegationLimitError(agentName, limits.maxRuns);
}

/**
 * Checks that an agent may run as part of another agent's run, and counts its run.
 *
 * @throws {DelegationCycleError | DelegationDepthError | DelegationLimitError}
 */
export function startDescent(parent: Lineage | undefined, agentName: string): void {
  checkDescent(parent, agentName);
  if (parent?.limits !== undefined) parent.limits.runs++;
}

/**
 * Creates the ledger of a run or a debate, below that of the run that delegates to it.
 *
 * @param owner kind and name, for the log
 * @param loggerOf returns the logger of the owner's context
 */
export function createLedger(
  owner: { readonly kind: 'agent' | 'debate'; readonly name: string },
  limits: SpendingLimits,
  listeners: readonly (UsageListener | undefined)[],
  hubCtx: HandlerCtx | undefined,
  loggerOf: () => Logger,
): TokenLedger {
  const onListenerError = (err: unknown): void => {
    loggerOf().error({ err }, `onTokenUsage of ${owner.kind} ${quote(owner.name)} failed`);
  };
  const present = listeners.filter((listener) => listener !== undefined);
  return new TokenLedger(limits, lineageOf(hubCtx)?.ledger, present, onListenerError, meterOf(hubCtx));
}

/** Counts what an earlier delivery spent on a call of the run of `lineage`. */
export function replaySpending(lineage: Lineage | undefined, spent: CallSpending): void {
  if (lineage === undefined) return;
  const { ledger, limits } = lineage;
  ledger.replay(spent);
  if (spent.runs === undefined) return;
  ledger.countRuns(spent.runs);
  if (limits !== undefined) limits.runs += spent.runs;
}

/** Counts a handoff to another agent as a delegated run. */
export function countHandoff(from: AgentContext): void {
  const limits = lineageOf(from)?.limits;
  if (limits !== undefined) limits.runs++;
}

const toolName = 'delegate';
const handoffName = 'handoff';

/**
 * Returns a function that lists an agent's tools when a run starts. With a registry they include `delegate` and
 * `handoff`, as far as there are agents for them. The list is rebuilt only if other agents were registered, or a group of
 * tools changed, since the last run.
 *
 * @param offered definitions that the model is offered beside the tools
 * @throws {InvalidOptionError | InvalidSchemaError | DuplicateToolError}
 */
export function createToolSource(
  agentName: string,
  tools: readonly Tool[],
  registry: AgentRegistry | undefined,
  offered: readonly ToolDefinition[] = [],
): () => ToolRegistry {
  let current = toRegistry(tools, offered);
  const taken = [...tools, ...offered].find(({ name }) => name === toolName || name === handoffName);
  if (registry !== undefined && taken !== undefined) throw new DuplicateToolError(taken.name);
  const list = new ToolList(tools);
  let own = list.current;
  let known = 0;
  return () => {
    const others = registry?.list().filter(({ name }) => name !== agentName) ?? [];
    // Agents are never removed, so the count tells whether there are new ones.
    if (others.length !== known || list.current !== own) {
      known = others.length;
      own = list.current;
      const takers = others.filter(({ name }) => registry?.takesOver(name) === true);
      const delegates = others.filter((other) => !takers.includes(other));
      const added = [
        ...(delegates.length > 0 ? [delegateTool(delegates)] : []),
        ...(takers.length > 0 ? [handoffTool(takers)] : []),
      ];
      const rest = own.filter(({ name }) => !added.some((tool) => tool.name === name));
      // A tool that a server has now takes the place of a definition.
      const free = offered.filter(({ name }) => !rest.some((tool) => tool.name === name));
      current = toRegistry([...rest, ...added], free);
    }
    return current;
  };
}

/** Tools of an agent that are a function of the turn. */
export interface TurnTools {
  /** Tools of the last turn of any run in this process; `undefined` before the first. */
  readonly latest: ToolRegistry | undefined;
  /** Returns the tools of a turn. Rejects with {@link InvalidOptionError} and the errors of {@link createToolSource}. */
  of(start: TurnStart): Promise<ToolRegistry>;
}

/** Returns the tools of an agent whose tools are a function of the turn. An array that is returned again is not read again. */
export function createTurnTools(
  agentName: string,
  create: (start: TurnStart) => readonly Tool[] | Promise<readonly Tool[]>,
  registry: AgentRegistry | undefined,
  offered: readonly ToolDefinition[] | undefined,
): TurnTools {
  let last: { readonly given: readonly Tool[]; readonly source: () => ToolRegistry } | undefined;
  let latest: ToolRegistry | undefined;
  return {
    get latest() {
      return latest;
    },
    async of(start) {
      const given = await create(start);
      if (!Array.isArray(given)) {
        throw new InvalidOptionError(`the result of tools of agent ${quote(agentName)}`, 'an array', given, 'type');
      }
      if (last?.given !== given) last = { given, source: createToolSource(agentName, given, registry, offered) };
      latest = last.source();
      return latest;
    },
  };
}

function toRegistry(tools: readonly Tool[], offered: readonly ToolDefinition[]): ToolRegistry {
  const registry = new ToolRegistry();
  for (const tool of tools) registry.register(tool);
  for (const definition of offered) registry.offer(definition);
  return registry;
}

interface DelegateInput {
  readonly agentName: string;
  readonly input: string;
}

function delegateTool(others: readonly Agent[]): Tool {
  const tool: Tool<DelegateInput, unknown> = {
    name: toolName,
    description: 'Delegates a task to another agent and returns its answer. The other agent sees only the input.',
    parameters: {
      type: 'object',
      properties: {
        agentName: choiceOf(others, 'Agent that performs the task'),
        input: { type: 'string', description: 'The complete task, with all information that it requires' },
      },
      required: ['agentName', 'input'],
      additionalProperties: false,
    },
    execute: delegate,
  };
  delegateTools.add(tool);
  return tool;
}

/** Returns the schema of a parameter that names one of the agents. */
function choiceOf(agents: readonly Agent[], role: string): Record<string, unknown> {
  const who = agents.map(({ name, description }) => `- ${name}${description === undefined ? '' : `: ${description}`}`);
  return {
    type: 'string',
    enum: agents.map(({ name }) => name),
    description: `${role}:\n${who.join('\n')}`,
  };
}

function handoffTool(takers: readonly Agent[]): Tool {
  const tool: Tool<Pick<DelegateInput, 'agentName'>, Handoff> = {
    name: handoffName,
    description:
      'Hands the conversation over to another agent, which sees all of it and answers the user in your place.',
    parameters: {
      type: 'object',
      properties: { agentName: choiceOf(takers, 'Agent that continues the conversation') },
      required: ['agentName'],
      additionalProperties: false,
    },
    async execute({ agentName }, ctx) {
      checkDescent(lineageOf(ctx), agentName);
      return new Handoff(agentName);
    },
  };
  handoffTools.add(tool);
  return tool;
}

const handoffTools = new WeakSet<Tool>();

/** Returns `true` for the tool `handoff`, whose call ends the part of an agent in its run. */
export function isHandoffTool(tool: Tool | undefined): boolean {
  return tool !== undefined && handoffTools.has(tool);
}

const delegateTools = new WeakSet<Tool>();

/** Returns `true` for the tool `delegate`, whose execution is the run of another agent. */
export function isDelegateTool(tool: Tool | undefined): boolean {
  return tool !== undefined && delegateTools.has(tool);
}

/** Returns the answer, or the status, the error and the text so far of an agent that did not complete. */
async function delegate({ agentName, input }: DelegateInput, ctx: AgentContext): Promise<unknown> {
  const { status, output, error } = await ctx.delegate(agentName, input);
  if (status === 'completed') return output;
  return { agentName, status, ...(error && { error: messageOf(error) }), partialOutput: output };
}
