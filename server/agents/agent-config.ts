import { describe, InvalidOptionError } from '../errors.js';
import { type ResolvedRetry, type RetryConfig, resolveRetry } from '../hub/events/retry-policy.js';
import { checkOptionNames } from '../option-names.js';
import { type Clock, systemClock } from '../transports/clock.js';
import { AgentRegistry } from './agent-registry.js';
import { type AgentTotals, createTotals } from './agent-totals.js';
import { AnswerLimit } from './answer-limit.js';
import { createToolSource } from './delegate-tool.js';
import type { AgentMemory } from './memory/agent-memory.js';
import type { ModelOptions, ModelProvider } from './model-provider.js';
import type { TokenUsage } from './token-usage.js';
import type { Tool } from './tool.js';
import type { ToolRegistry } from './tool-registry.js';

/** What `createAgent` takes. */
export interface AgentConfig {
  /** Names the agent in registries, in memory and on the dashboard. */
  name: string;
  /** What it is good for: other agents read it when they choose whom to delegate to. */
  description?: string;
  /** Sent first in every call, and never stored in memory. */
  systemPrompt: string;
  provider: ModelProvider;
  /** Which model and how. `tools` and `signal` in it are the agent's to fill in. */
  model: ModelOptions;
  tools?: Tool[];
  /** Keeps conversations; a run continues the one of its `requestId`. @default none */
  memory?: AgentMemory;
  /** Most turns of a run: model calls, each with the tool calls that it asked for. @default 10 */
  maxIterations?: number;
  /** After `maxIterations`, spend one more turn without tools to get an answer. @default false */
  finalAnswerTurn?: boolean;
  /**
   * Tokens that a run may spend, delegates and retries included. Before each call its `maxTokens` is
   * cut to what is left, so that a run goes over by one call's prompt at most; calls that share a
   * budget therefore go one after another. Where the vendor rejects so high a `maxTokens` the call is made
   * without, and the model's own limit, which is lower, takes its place. @default no limit
   */
  tokenBudget?: number;
  /** How failed model calls are tried again, where {@link ProviderError.retryable} allows it. @default one attempt */
  retry?: RetryConfig;
  /** Told of each model call's tokens, those of delegates and of failed calls that cost something included. */
  onTokenUsage?: (usage: TokenUsage) => void;
  /** Whose agents this one may delegate to. @default none */
  registry?: AgentRegistry;
  /** How many delegations deep a run may be below the first agent. @default 8 */
  maxDelegationDepth?: number;
  /** Tool calls of one turn that run at once. @default no limit */
  maxParallelToolCalls?: number;
  /** So many turns in a row with the same call and arguments end the run; at the third the model is told. @default 5 */
  maxRepeats?: number;
  /** Where time-outs, retry delays and durations come from. @default the machine's */
  clock?: Clock;
}

/** An {@link AgentConfig} that was checked, with every default filled in. */
export interface AgentSpec {
  readonly name: string;
  readonly description: string | undefined;
  readonly systemPrompt: string;
  readonly provider: ModelProvider;
  readonly model: ModelOptions;
  /** The agent's tools, with `delegate` where there is someone to delegate to. */
  readonly tools: () => ToolRegistry;
  readonly memory: AgentMemory | undefined;
  readonly maxIterations: number;
  readonly finalAnswerTurn: boolean;
  readonly tokenBudget: number | undefined;
  readonly answerLimit: AnswerLimit;
  readonly retry: ResolvedRetry | undefined;
  readonly onTokenUsage: ((usage: TokenUsage) => void) | undefined;
  readonly registry: AgentRegistry | undefined;
  readonly maxDelegationDepth: number;
  readonly maxParallelToolCalls: number;
  readonly maxRepeats: number;
  readonly clock: Clock;
  readonly totals: AgentTotals;
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

/** Checks a config and fills in defaults. @throws {InvalidOptionError | InvalidSchemaError | DuplicateToolError} */
export function resolveAgentConfig(config: AgentConfig): AgentSpec {
  if (typeof config !== 'object' || config === null) throw new InvalidOptionError('config', 'an object', config);
  const { name, description, systemPrompt, provider, model, tools = [], memory, tokenBudget, retry } = config;
  const { onTokenUsage, registry, finalAnswerTurn = false, clock = systemClock } = config;
  const { maxIterations = 10, maxDelegationDepth = 8, maxRepeats = 5 } = config;
  const { maxParallelToolCalls = Number.POSITIVE_INFINITY } = config;
  const owner = `agent ${describe(name)}`;
  const check = (ok: boolean, option: string, expected: string, got: unknown): void => {
    if (!ok) throw new InvalidOptionError(`${option} of ${owner}`, expected, got);
  };
  checkOptionNames(config, optionNames, owner);
  check(typeof name === 'string' && name !== '', 'name', 'a non-empty string', name);
  check(description === undefined || typeof description === 'string', 'description', 'a string', description);
  check(typeof systemPrompt === 'string', 'systemPrompt', 'a string', systemPrompt);
  check(typeof provider?.chat === 'function', 'provider', 'an object with a chat method', provider);
  checkModel(model, check);
  check(Array.isArray(tools), 'tools', 'an array', tools);
  check(memory === undefined || isMemory(memory), 'memory', 'an AgentMemory', memory);
  check(isWhole(maxIterations, 1), 'maxIterations', 'a whole number, 1 or more', maxIterations);
  check(typeof finalAnswerTurn === 'boolean', 'finalAnswerTurn', 'true or false', finalAnswerTurn);
  check(tokenBudget === undefined || isWhole(tokenBudget, 1), 'tokenBudget', 'a whole number, 1 or more', tokenBudget);
  check(onTokenUsage === undefined || typeof onTokenUsage === 'function', 'onTokenUsage', 'a function', onTokenUsage);
  check(registry === undefined || registry instanceof AgentRegistry, 'registry', 'an AgentRegistry', registry);
  check(isWhole(maxDelegationDepth, 0), 'maxDelegationDepth', 'a whole number, 0 or more', maxDelegationDepth);
  check(isLimit(maxParallelToolCalls, 1), 'maxParallelToolCalls', 'a whole number, 1 or more', maxParallelToolCalls);
  check(isLimit(maxRepeats, 2), 'maxRepeats', 'a whole number, 2 or more', maxRepeats);
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
    answerLimit: new AnswerLimit(),
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

type Check = (ok: boolean, option: string, expected: string, got: unknown) => void;

function checkModel(model: ModelOptions, check: Check): void {
  check(typeof model === 'object' && model !== null, 'model', 'an object such as { model: "..." }', model);
  const { model: id, temperature, maxTokens, tools, signal } = model;
  check(typeof id === 'string' && id !== '', 'model.model', 'a non-empty string', id);
  check(temperature === undefined || Number.isFinite(temperature), 'model.temperature', 'a number', temperature);
  check(maxTokens === undefined || isWhole(maxTokens, 1), 'model.maxTokens', 'a whole number, 1 or more', maxTokens);
  check(tools === undefined, 'model.tools', 'left out: give the agent its tools in "tools"', tools);
  check(signal === undefined, 'model.signal', 'left out: give a run its signal in run(input, { signal })', signal);
}

function isMemory(memory: AgentMemory): boolean {
  return typeof memory?.addMessage === 'function' && typeof memory.getMessages === 'function';
}

function isWhole(value: unknown, min: number): boolean {
  return Number.isInteger(value) && Number(value) >= min;
}

function isLimit(value: unknown, min: number): boolean {
  return value === Number.POSITIVE_INFINITY || isWhole(value, min);
}
