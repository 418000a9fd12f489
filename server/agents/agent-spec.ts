import { InvalidOptionError, quote } from '../errors.js';
import {
  type AgentDescription,
  type AgentHour,
  type AgentSource,
  countInHour,
  describeDurations,
  shownUsage,
} from '../hub/events/reported-agents.js';
import type { ResolvedRetry } from '../hub/events/retry-policy.js';
import type { Limit } from '../hub/limits/limit.js';
import { describeSpendLimits, type SpendLimit } from '../hub/limits/spend-limit.js';
import type { Clock } from '../transports/clock.js';
import { DurationSketch, durationBucket } from '../transports/statistics/durations.js';
import type { Logger } from '../transports/transport.js';
import type { Agent, ModelAgent } from './agent/agent.js';
import type { AgentContext } from './agent/agent-context.js';
import type { AgentHooks } from './agent/hooks.js';
import type { AgentRunStatus } from './agent/run-result.js';
import type { AgentMemory } from './memory/conversation-memory.js';
import type { ModelOptions, ModelProvider } from './model/model-provider.js';
import type { OutputSchema } from './model/output-schema.js';
import type { PriceList } from './model/price.js';
import { addUsage, noUsage, type TokenUsage } from './model/token-usage.js';
import type { AgentRegistry, TurnTools } from './multi-agent/delegation.js';
import type { ModelCandidate } from './run/candidate-caller.js';
import type { ToolRegistry } from './tools/tool-registry.js';

/** Validated {@link AgentConfig} with every default filled in. */
export interface AgentSpec {
  readonly name: string;
  readonly description: string | undefined;
  /** System prompt, or the function that returns it. A text has the format of the answer, if the model needs it. */
  readonly systemPrompt: string | ((ctx: AgentContext) => string | Promise<string>);
  readonly provider: ModelProvider;
  readonly model: ModelOptions;
  /** Provider and model, and those that replace them after a failure. */
  readonly candidates: readonly [ModelCandidate, ...ModelCandidate[]];
  /** Schema of the answers, and the number of corrections per run. */
  readonly output:
    | {
        readonly schema: OutputSchema;
        readonly retries: number;
        /** The schema as the config has it. */
        readonly given: object;
      }
    | undefined;
  /** Returns the agent's tools, with `delegate` if there is another agent to delegate to. */
  readonly tools: () => ToolRegistry;
  /** Present if the tools are a function of the turn. `tools` then lacks them. */
  readonly turnTools: TurnTools | undefined;
  readonly hooks: AgentHooks;
  /** The run calls hooks, or other functions of the turn. */
  readonly isHooked: boolean;
  /** The provider sends the format of the answer. */
  readonly hasJsonMode: boolean;
  readonly memory: AgentMemory | undefined;
  readonly maxIterations: number;
  readonly finalAnswerTurn: boolean;
  readonly tokenBudget: number | undefined;
  readonly costBudget: number | undefined;
  readonly prices: PriceList | undefined;
  readonly spendLimits: readonly SpendLimit[] | undefined;
  readonly retry: ResolvedRetry | undefined;
  readonly onTokenUsage: ((usage: TokenUsage) => void) | undefined;
  readonly registry: AgentRegistry | undefined;
  readonly maxDelegationDepth: number;
  readonly maxDelegations: number;
  readonly maxParallelToolCalls: number;
  readonly maxToolCalls: number;
  readonly maxToolResultChars: number;
  readonly contextTokens: number | undefined;
  /** Longest delay that a vendor can request: in `agent.run`, and before the next attempt at an event. */
  readonly maxRetryAfterMs: { readonly inProcess: number; readonly ofEvent: number };
  readonly limit: Limit | ((payload: unknown) => Limit) | undefined;
  readonly logger: Logger | undefined;
  readonly maxRepeats: number;
  readonly clock: Clock;
  readonly totals: AgentTotals;
}

/** Counters of an agent in this process since its creation. */
export interface AgentTotals {
  /**
   * Runs by status. `aborted` counts runs that rejected with their signal's reason, `handed_over` those that another agent
   * continued; it is absent before the first one.
   */
  readonly runs: Record<AgentRunStatus | 'aborted', number> & { handed_over?: number };
  /** Tokens of the agent's own model calls, without those of delegates. */
  readonly tokenUsage: TokenUsage;
  /** Durations of the runs that ended, aborted ones excluded. */
  readonly durations: DurationSketch;
  /** Runs that made their first model call. */
  begun: number;
  /** Hours of the last day with a model call. */
  readonly hours: AgentHour[];
}

/** Counts a run that makes its first model call. @param now epoch milliseconds */
export function countBegin(totals: AgentTotals, now: number): void {
  totals.begun++;
  countInHour(totals.hours, now, { runs: 1, tokens: 0 });
}

/** Counts the tokens of a model call. @param now epoch milliseconds */
export function countTokens(totals: AgentTotals, usage: TokenUsage, now: number): void {
  addUsage(totals.tokenUsage, usage);
  const { totalTokens: tokens, cost } = usage;
  countInHour(totals.hours, now, { runs: 0, tokens, ...(cost !== undefined && { cost }) });
}

/** Counts a run that has ended. */
export function countRun(totals: AgentTotals, status: AgentRunStatus, durationMs: number): void {
  totals.runs[status]++;
  totals.durations.addBucket(durationBucket(durationMs), 1);
  totals.durations.noteLongest(durationMs);
}

/** Counts a run that another agent continues. */
export function countHandedOver({ runs }: AgentTotals): void {
  runs.handed_over = (runs.handed_over ?? 0) + 1;
}

/** Returns counters that are all zero. */
export function createTotals(): AgentTotals {
  return {
    runs: { completed: 0, failed: 0, max_iterations: 0, token_budget_exceeded: 0, aborted: 0 },
    tokenUsage: noUsage(),
    durations: new DurationSketch(),
    begun: 0,
    hours: [],
  };
}

const specs = new WeakMap<Agent, AgentSpec>();

/** Registers the spec of an agent for {@link introspectAgents}. Returns the agent. */
export function introspectable<TAgent extends Agent>(agent: TAgent, spec: AgentSpec): TAgent {
  specs.set(agent, spec);
  return agent;
}

/** Returns the spec of an agent from `createAgent`. */
export function specOf(agent: Agent): AgentSpec | undefined {
  return specs.get(agent);
}

/** Returns `true` for an agent from `createAgent`, whose input may have parts. */
export function isModelAgent<TData>(agent: Agent<TData>): agent is ModelAgent<TData> {
  return specs.has(agent);
}

const sources = new WeakMap<AgentSpec, AgentSource>();

/** Returns the function that describes an agent and its delegates, the same one at each call. */
export function sourceOf(agent: AgentSpec): AgentSource {
  let source = sources.get(agent);
  if (source === undefined) {
    source = () => introspectSpecs([agent]);
    sources.set(agent, source);
  }
  return source;
}

/** Describes agents and all agents they can delegate to, each after its delegator, without keys and prompts. */
export function introspectAgents(agents: readonly Agent[]): AgentDescription[] {
  return introspectSpecs(agents.map(specOf));
}

function introspectSpecs(agents: readonly (AgentSpec | undefined)[]): AgentDescription[] {
  return reachable(agents).map(introspectAgent);
}

/** Returns the specs of agents and of all agents they can delegate to. */
export function reachableSpecs(agents: readonly Agent[]): AgentSpec[] {
  return reachable(agents.map(specOf));
}

function reachable(agents: readonly (AgentSpec | undefined)[]): AgentSpec[] {
  const found = new Set<AgentSpec>();
  const visit = (spec: AgentSpec | undefined): void => {
    if (spec === undefined || found.has(spec)) return;
    found.add(spec);
    for (const other of spec.registry?.list() ?? []) visit(specOf(other));
  };
  for (const agent of agents) visit(agent);
  return [...found];
}

/**
 * Returns the agents that may take a conversation over from an agent, also from one that took it over.
 *
 * @throws {InvalidOptionError} if one of them is not an agent from createAgent, or answers in another form
 */
export function takersOf(agent: AgentSpec): readonly AgentSpec[] {
  const found = new Set([agent]);
  // A set iterates over what is added meanwhile.
  for (const { name, registry } of found) {
    for (const other of registry?.list() ?? []) {
      if (other.name === name || registry?.takesOver(other.name) !== true) continue;
      const taker = specOf(other);
      const owner = `agent ${quote(other.name)}, registered with handoff: true,`;
      if (taker === undefined) throw new InvalidOptionError(owner, 'an agent from createAgent', other);
      if (agent.output !== undefined && taker.output?.given !== agent.output.given) {
        const same = `the same outputSchema object as ${quote(agent.name)}, which can hand over to it`;
        throw new InvalidOptionError(`outputSchema of ${owner}`, same, taker.output && 'another one');
      }
      found.add(taker);
    }
  }
  found.delete(agent);
  return [...found];
}

/** Returns the agent that takes a conversation over from an agent, if it can. */
export function takerOf({ registry }: AgentSpec, name: string): AgentSpec | undefined {
  const taker = registry?.takesOver(name) === true ? registry.get(name) : undefined;
  return taker && specOf(taker);
}

function introspectAgent(spec: AgentSpec): AgentDescription {
  const { name, description, model, tools, turnTools, registry, totals, tokenBudget, costBudget, spendLimits } = spec;
  const others = (registry?.list() ?? []).map((other) => other.name).filter((other) => other !== name);
  const handoffs = others.filter((other) => registry?.takesOver(other) === true);
  return {
    name,
    ...(description !== undefined && { description }),
    model: model.model,
    tools: (turnTools?.latest ?? tools()).getDefinitions().map((tool) => tool.name),
    delegates: others,
    ...(handoffs.length > 0 && { handoffs }),
    runs: { ...totals.runs },
    tokenUsage: shownUsage(totals.tokenUsage),
    begun: totals.begun,
    hours: [...totals.hours],
    ...(tokenBudget !== undefined && { tokenBudget }),
    ...(costBudget !== undefined && { costBudget }),
    ...(spendLimits !== undefined && { spendLimits: describeSpendLimits(spendLimits) }),
    ...describeDurations(totals.durations),
  };
}
