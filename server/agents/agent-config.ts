import { describe, InvalidOptionError } from '../errors.js';
import { type RetryConfig, resolveRetry } from '../hub/events/retry-policy.js';
import { OptionChecker } from '../options.js';
import { type Clock, systemClock } from '../transports/clock.js';
import { AgentRegistry } from './delegation/agent-registry.js';
import { createToolSource } from './delegation/delegate-tool.js';
import type { AgentMemory } from './memory/agent-memory.js';
import type { ModelOptions, ModelProvider } from './model/model-provider.js';
import type { TokenUsage } from './model/token-usage.js';
import { type AgentSpec, createTotals } from './run/agent-spec.js';
import { MaxTokensLimit } from './run/max-tokens-limit.js';
import type { Tool } from './tools/tool.js';

/** Options of `createAgent`. */
export interface AgentConfig {
  /** Name of the agent in registries, in memory and on the dashboard. */
  name: string;
  /** Purpose of the agent. Other agents read it to choose a delegate. */
  description?: string;
  /** First message of every model call. Never stored in memory. */
  systemPrompt: string;
  /** Provider that makes the model calls. */
  provider: ModelProvider;
  /** Model and its settings. The agent sets `tools` and `signal` itself. */
  model: ModelOptions;
  /** Tools that the model can call. @default none */
  tools?: Tool[];
  /** Memory that stores conversations. A run continues the conversation of its `requestId`. @default none */
  memory?: AgentMemory;
  /** Maximum number of model turns per run. A turn is one model call and the tool calls it requested. @default 10 */
  maxIterations?: number;
  /** Makes one more model call without tools after `maxIterations` turns, to get an answer. @default false */
  finalAnswerTurn?: boolean;
  /**
   * Maximum number of tokens per run, delegates and retries included. Each call's `maxTokens` is limited to the
   * remaining budget, so a run exceeds its budget by at most the prompt of one call. Calls that share a budget run one
   * after another. If the vendor rejects such a `maxTokens` as too high, the call is repeated without it and the
   * model's own limit applies. @default no limit
   */
  tokenBudget?: number;
  /** Retry policy for failed model calls that {@link ProviderError.retryable} allows to retry. @default one attempt */
  retry?: RetryConfig;
  /** Called with the token usage after each model call, delegates and failed calls included. */
  onTokenUsage?: (usage: TokenUsage) => void;
  /** Registry of agents it may delegate to. @default none */
  registry?: AgentRegistry;
  /** Maximum number of delegations in a chain that starts at this agent. @default 8 */
  maxDelegationDepth?: number;
  /** Maximum number of tool calls of one turn that run at the same time. @default no limit */
  maxParallelToolCalls?: number;
  /**
   * Number of consecutive turns with the same call and arguments that ends the run. The third such turn adds a note
   * for the model. @default 5
   */
  maxRepeats?: number;
  /** Clock for time-outs, retry delays and durations. @default the system clock */
  clock?: Clock;
}

const optionNames: readonly string[] = [
  'name',
  'description',
  'systemPrompt',
  'provider',
  'model',
  'tools',
  'memory',
  'maxIterations',
  'finalAnswerTurn',
  'tokenBudget',
  'retry',
  'onTokenUsage',
  'registry',
  'maxDelegationDepth',
  'maxParallelToolCalls',
  'maxRepeats',
  'clock',
];

/** Validates a config and fills in defaults. @throws {InvalidOptionError | InvalidSchemaError | DuplicateToolError} */
export function resolveAgentConfig(config: AgentConfig): AgentSpec {
  if (typeof config !== 'object' || config === null) throw new InvalidOptionError('config', 'an object', config);
  const { name, description, systemPrompt, provider, model, tools = [], memory, tokenBudget, retry } = config;
  const { onTokenUsage, registry, finalAnswerTurn = false, clock = systemClock } = config;
  const { maxIterations = 10, maxDelegationDepth = 8, maxRepeats = 5 } = config;
  const { maxParallelToolCalls = Number.POSITIVE_INFINITY } = config;
  const owner = `agent ${describe(name)}`;
  const check = new OptionChecker(config, optionNames, owner);
  check.that(typeof name === 'string' && name !== '', 'name', 'a non-empty string', name);
  check.string('description', description);
  check.that(typeof systemPrompt === 'string', 'systemPrompt', 'a string', systemPrompt);
  check.that(typeof provider?.chat === 'function', 'provider', 'an object with a chat method', provider);
  checkModel(model, check);
  check.that(Array.isArray(tools), 'tools', 'an array', tools);
  check.that(memory === undefined || isMemory(memory), 'memory', 'an AgentMemory', memory);
  check.count('maxIterations', maxIterations);
  check.boolean('finalAnswerTurn', finalAnswerTurn);
  check.count('tokenBudget', tokenBudget);
  check.function('onTokenUsage', onTokenUsage);
  check.that(registry === undefined || registry instanceof AgentRegistry, 'registry', 'an AgentRegistry', registry);
  check.count('maxDelegationDepth', maxDelegationDepth, { min: 0 });
  if (maxParallelToolCalls !== Number.POSITIVE_INFINITY) check.count('maxParallelToolCalls', maxParallelToolCalls);
  if (maxRepeats !== Number.POSITIVE_INFINITY) check.count('maxRepeats', maxRepeats, { min: 2 });
  return {
    name,
    description,
    systemPrompt,
    provider,
    model,
    tools: createToolSource(name, tools, registry),
    memory,
    maxIterations,
    finalAnswerTurn,
    tokenBudget,
    maxTokensLimit: new MaxTokensLimit(),
    retry: retry === undefined ? undefined : resolveRetry(retry, owner),
    onTokenUsage,
    registry,
    maxDelegationDepth,
    maxParallelToolCalls,
    maxRepeats,
    clock,
    totals: createTotals(),
  };
}

function checkModel(model: ModelOptions, check: OptionChecker): void {
  check.that(typeof model === 'object' && model !== null, 'model', 'an object such as { model: "..." }', model);
  const { model: id, temperature, maxTokens, tools, signal } = model;
  check.that(typeof id === 'string' && id !== '', 'model.model', 'a non-empty string', id);
  check.that(temperature === undefined || Number.isFinite(temperature), 'model.temperature', 'a number', temperature);
  check.count('model.maxTokens', maxTokens);
  check.that(tools === undefined, 'model.tools', 'omitted: pass tools as "tools" of the agent', tools);
  check.that(signal === undefined, 'model.signal', 'omitted: pass the signal as run(input, { signal })', signal);
}

function isMemory(memory: AgentMemory): boolean {
  return typeof memory?.addMessage === 'function' && typeof memory.getMessages === 'function';
}
