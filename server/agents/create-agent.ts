import type { StandardSchemaV1 } from '@standard-schema/spec';
import { describe, InvalidOptionError } from '../errors.js';
import { type RetryConfig, resolveRetry } from '../hub/events/retry-policy.js';
import { guardLogger } from '../hub/guard-logger.js';
import { checkLimit, type Limit } from '../hub/limits/limit.js';
import { checkSpendLimits, type SpendLimit } from '../hub/limits/spend-limit.js';
import type { JsonSchema } from '../json-schema.js';
import { OptionChecker } from '../options.js';
import { type Clock, systemClock } from '../transports/clock.js';
import type { Logger } from '../transports/transport.js';
import { either } from './abortable.js';
import type { ModelAgent } from './agent/agent.js';
import type { AgentContext } from './agent/agent-context.js';
import { createAgentStream } from './agent/agent-stream.js';
import type {
  AnswerDecision,
  AnswerStart,
  HookResult,
  ToolDecision,
  ToolStart,
  TurnPlan,
  TurnStart,
} from './agent/hooks.js';
import type { SettledAgentRun } from './agent/run-result.js';
import { type AgentSpec, createTotals, introspectable } from './agent-spec.js';
import { toHandler } from './as-handler.js';
import type { AgentMemory } from './memory/conversation-memory.js';
import { checkModelOptions, type ModelOptions, type ModelProvider } from './model/model-provider.js';
import { resolveOutputSchema, withFormat } from './model/output-schema.js';
import { type ModelPrice, type PriceList, resolvePrices } from './model/price.js';
import type { TokenUsage } from './model/token-usage.js';
import { AgentRegistry, createToolSource, createTurnTools } from './multi-agent/delegation.js';
import { candidatesOf, type FallbackEntry } from './providers/fallback-provider.js';
import { MaxTokensLimit, type ModelCandidate } from './run/candidate-caller.js';
import { observeLocally } from './run/handoff.js';
import { runAgent } from './run/run-agent.js';
import { type RunRequest, toRequest } from './run/run-request.js';
import type { Tool } from './tools/tool.js';

/**
 * Creates an agent.
 *
 * @example
 * const agent = createAgent({
 *   name: 'forecaster',
 *   systemPrompt: 'You answer questions about the weather.',
 *   provider: new OpenAIProvider({ apiKey }),
 *   model: { model: 'gpt-4o-mini' },
 *   tools: [weather],
 * });
 * const { output } = await agent.run('Do I need an umbrella in Bergen?');
 *
 * @throws {InvalidOptionError | InvalidSchemaError | DuplicateToolError}
 */
export function createAgent<TData = unknown>(config: AgentConfig<TData>): ModelAgent<TData> {
  const spec = resolveAgentConfig(config);
  const { name, description } = spec;
  // The schema of the spec returns values of this type.
  const start = (request: RunRequest): Promise<SettledAgentRun<TData>> => {
    return observeLocally(request, spec, () => runAgent(spec, request)) as Promise<SettledAgentRun<TData>>;
  };
  const agent: ModelAgent<TData> = {
    name,
    description,
    async run(input, options = {}) {
      return start(toRequest(name, input, options));
    },
    stream(input, options = {}) {
      const request = toRequest(name, input, options);
      return createAgentStream(name, request.signal, (onEvent, { signal }) =>
        start({ ...request, onEvent, signal: either(request.signal, signal) }),
      );
    },
    asHandler: (options = {}) => toHandler(agent, options),
  };
  return introspectable(agent, spec);
}

/** Options of `createAgent`. `TData` is the output type of `outputSchema`. */
export interface AgentConfig<TData = unknown> {
  /** Name of the agent in registries, in memory and on the dashboard. */
  name: string;
  /** Purpose of the agent. Other agents read it to choose a delegate. */
  description?: string;
  /**
   * First message of every model call, or a function that returns it for the context of a run. Never stored in memory. A
   * durable run calls the function once, and records the prompt.
   */
  systemPrompt: string | ((ctx: AgentContext) => string | Promise<string>);
  /** Provider that makes the model calls. */
  provider: ModelProvider;
  /** Model and its settings. The agent sets `signal` itself, and adds its own tools to `tools`. */
  model: ModelOptions;
  /**
   * Tools that the model can call, or a function that returns them for a turn. The function is called before each turn,
   * and again before a durable run executes calls that an earlier delivery recorded. @default none
   */
  tools?: Tool[] | ((start: TurnStart) => readonly Tool[] | Promise<readonly Tool[]>);
  /**
   * Called before each model call of a turn, to change its model, provider, tools, tool choice or system prompt. An error
   * ends the run. @default none
   */
  prepareTurn?: (start: TurnStart) => HookResult<TurnPlan>;
  /**
   * Called before a tool is executed, or asks for approval: may refuse the call, or replace its arguments or its result.
   * If it throws, the call is refused, and the error logged. A durable run records the decision with the answer that
   * made the call. @default none
   */
  beforeTool?: (start: ToolStart) => HookResult<ToolDecision>;
  /**
   * Called with each answer of the model before it is used: may refuse the answer, or replace its text or its calls. A
   * durable run records the answer as the hook returns it. A stream shows a text after the hook has accepted it. An error
   * ends the run. @default none
   */
  afterModel?: (start: AnswerStart) => HookResult<AnswerDecision>;
  /**
   * Schema of the final answer: a Standard Schema (Zod, ArkType, Valibot ...) or a JSON Schema. The model answers in
   * JSON, by the vendor's JSON mode if there is one, and the result has the validated value as `data`.
   * @default none: the answer is a text
   */
  outputSchema?: StandardSchemaV1<unknown, TData> | JsonSchema;
  /** JSON Schema of `outputSchema`, for a library that cannot convert its schemas. @default derived */
  outputJsonSchema?: JsonSchema;
  /**
   * Maximum number of times per run that the model is asked to correct an answer that does not match `outputSchema`.
   * The run then fails with {@link OutputSchemaError}. Each correction is a turn. @default 2
   */
  outputRetries?: number;
  /** Memory that stores conversations. A run continues the conversation of its `conversationId`. @default none */
  memory?: AgentMemory;
  /** Maximum number of model turns per run. A turn is one model call and the tool calls it requested. @default 10 */
  maxIterations?: number;
  /** Makes one more model call without tools after `maxIterations` turns, to get an answer. @default false */
  finalAnswerTurn?: boolean;
  /**
   * Maximum number of tokens per run, delegates and retries included. Each call's `maxTokens` is limited to the
   * remaining budget, so a run exceeds its budget by at most the prompt of one call. Calls that share a budget run one
   * after another. If the vendor rejects such a `maxTokens` as too high, the call is repeated with the limit that the
   * vendor names, else without one: the model cannot write that much. @default no limit
   */
  tokenBudget?: number;
  /**
   * Prices of models by name, per million tokens, in a currency of your choice. With them each usage and the result
   * have a `cost`. Delegates without a price for their model use that of the delegating agent. @default none
   */
  prices?: Readonly<Record<string, ModelPrice>>;
  /**
   * Maximum cost per run in the currency of `prices`, delegates and retries included. Applies as `tokenBudget` does.
   * A call of a model without a price fails with {@link UnknownPriceError}. A call whose usage the provider does not
   * report counts as one that wrote all tokens it was allowed to. Requires `prices`. @default no limit
   */
  costBudget?: number;
  /**
   * Limits of what all runs of the agent and its delegates spend in a window of time, over all processes of the hub's
   * transport. Each call reserves its prompt and `maxTokens`, or 2,048 tokens, and is corrected afterwards. A call waits
   * while only reservations stand in its way; otherwise the run ends with `token_budget_exceeded`, and an event is
   * retried when the window has room. A limit of cost requires `prices`. Without a hub the limits hold within the
   * process. @default no limit
   */
  spendLimits?: readonly SpendLimit[];
  /** Retry policy for failed model calls that {@link ProviderError.retryable} allows to retry. @default one attempt */
  retry?: RetryConfig;
  /**
   * Maximum delay that a vendor's `Retry-After` can cause, in milliseconds. @default 60_000 in `run`; 3_600_000 for a
   * retried event
   */
  maxRetryAfterMs?: number;
  /**
   * Maximum number of tokens per model call, estimated as one per four bytes of text. What does not fit is not sent:
   * earlier exchanges first, then the oldest turns of the run. @default no limit
   */
  contextTokens?: number;
  /**
   * Called with the token usage after each model call, delegates and failed calls included. May be async. Its errors
   * are logged and change nothing.
   */
  onTokenUsage?: (usage: TokenUsage) => void;
  /** Registry of agents it may delegate to. @default none */
  registry?: AgentRegistry;
  /** Maximum number of delegations in a chain that starts at this agent. Applies to the first delegator. @default 8 */
  maxDelegationDepth?: number;
  /** Maximum number of delegated runs that one run starts, directly or through its delegates. @default 100 */
  maxDelegations?: number;
  /** Maximum number of tool calls of one turn that run at the same time. @default 16 */
  maxParallelToolCalls?: number;
  /** Maximum number of tool calls per run. Further calls are refused, and the model receives an error. @default 1_000 */
  maxToolCalls?: number;
  /** Maximum number of characters of a tool result that the model receives. @default 20_000 */
  maxToolResultChars?: number;
  /**
   * Number of turns with the same call and arguments that ends the run, if they are consecutive or part of a cycle of
   * up to four turns. The third such turn adds a note for the model. @default 5
   */
  maxRepeats?: number;
  /**
   * Limit that each model call takes a permit of, or a function that returns it for the payload of the run. A durable run
   * that has to wait for more than a second holds no process meanwhile; other runs wait. Without a hub the limit holds
   * within the process. @default no limit
   */
  limit?: Limit | ((payload: unknown) => Limit);
  /** Receives errors that no caller receives, such as the error of a tool. @default the logger of the event, else none */
  logger?: Logger;
  /** Clock for timeouts, retry delays and durations. @default the system clock */
  clock?: Clock;
}

// A record, so that the compiler misses no option.
const options: Record<keyof AgentConfig, true> = {
  name: true,
  description: true,
  systemPrompt: true,
  provider: true,
  model: true,
  tools: true,
  prepareTurn: true,
  beforeTool: true,
  afterModel: true,
  outputSchema: true,
  outputJsonSchema: true,
  outputRetries: true,
  memory: true,
  maxIterations: true,
  finalAnswerTurn: true,
  tokenBudget: true,
  prices: true,
  costBudget: true,
  spendLimits: true,
  retry: true,
  maxRetryAfterMs: true,
  contextTokens: true,
  onTokenUsage: true,
  registry: true,
  maxDelegationDepth: true,
  maxDelegations: true,
  maxParallelToolCalls: true,
  maxToolCalls: true,
  maxToolResultChars: true,
  maxRepeats: true,
  limit: true,
  logger: true,
  clock: true,
};
const optionNames: readonly string[] = Object.keys(options);

/** Validates a config and fills in defaults. @throws {InvalidOptionError | InvalidSchemaError | DuplicateToolError} */
function resolveAgentConfig(config: AgentConfig): AgentSpec {
  if (typeof config !== 'object' || config === null) throw new InvalidOptionError('config', 'an object', config);
  const { name, description, systemPrompt, provider, model, tools = [], memory, tokenBudget, retry } = config;
  const { onTokenUsage, registry, finalAnswerTurn = false, clock = systemClock } = config;
  const { maxIterations = 10, maxDelegationDepth = 8, maxRepeats = 5 } = config;
  const { maxParallelToolCalls = 16, maxToolCalls = 1_000, maxToolResultChars = 20_000, maxDelegations = 100 } = config;
  const { maxRetryAfterMs, contextTokens, logger, outputSchema, outputJsonSchema, outputRetries = 2 } = config;
  const { costBudget, limit, spendLimits } = config;
  const owner = `agent ${describe(name)}`;
  const check = new OptionChecker(config, optionNames, owner);
  check.that(typeof name === 'string' && name !== '', 'name', 'a non-empty string', name);
  check.string('description', description);
  const isPrompt = typeof systemPrompt === 'string' || typeof systemPrompt === 'function';
  check.that(isPrompt, 'systemPrompt', 'a string or a function', systemPrompt);
  const { prepareTurn, beforeTool, afterModel } = config;
  for (const [hook, value] of Object.entries({ prepareTurn, beforeTool, afterModel })) check.function(hook, value);
  check.required('provider', provider);
  check.methods('provider', provider, ['chat']);
  const turnTools = typeof tools === 'function' ? tools : undefined;
  const ownTools = typeof tools === 'function' ? [] : tools;
  check.that(Array.isArray(ownTools), 'tools', 'an array or a function', tools);
  const hasTools =
    turnTools !== undefined || ownTools.length > 0 || registry !== undefined || (model?.tools?.length ?? 0) > 0;
  checkModelOptions(model, owner, hasTools);
  for (const [option, value] of Object.entries({ outputJsonSchema, outputRetries: config.outputRetries })) {
    check.that(value === undefined || outputSchema !== undefined, option, 'omitted without an outputSchema', value);
  }
  check.count('outputRetries', outputRetries, { min: 0 });
  check.that(memory === undefined || isMemory(memory), 'memory', 'an AgentMemory', memory);
  check.count('maxIterations', maxIterations);
  check.boolean('finalAnswerTurn', finalAnswerTurn);
  check.count('tokenBudget', tokenBudget);
  const prices = config.prices && resolvePrices(config.prices, owner);
  const isCost = costBudget === undefined || (Number.isFinite(costBudget) && costBudget > 0);
  check.that(isCost, 'costBudget', 'a number above 0', costBudget);
  if (spendLimits !== undefined) checkSpendLimits(spendLimits, owner);
  const needsPrice = costBudget !== undefined || spendLimits?.some(({ unit }) => unit === 'cost') === true;
  check.function('onTokenUsage', onTokenUsage);
  check.that(registry === undefined || registry instanceof AgentRegistry, 'registry', 'an AgentRegistry', registry);
  check.count('maxDelegationDepth', maxDelegationDepth, { min: 0 });
  const limits = { maxDelegations, maxParallelToolCalls, maxToolCalls, maxToolResultChars };
  for (const [option, limit] of Object.entries(limits)) {
    if (limit !== Number.POSITIVE_INFINITY) check.count(option, limit, { min: option === 'maxDelegations' ? 0 : 1 });
  }
  if (maxRepeats !== Number.POSITIVE_INFINITY) check.count('maxRepeats', maxRepeats, { min: 2 });
  if (limit !== undefined && typeof limit !== 'function') checkLimit(limit, `limit of ${owner}`);
  check.durationMs('maxRetryAfterMs', maxRetryAfterMs);
  check.count('contextTokens', contextTokens);
  const clockMethods = [clock?.now, clock?.monotonic, clock?.after, clock?.soon];
  const isClock = clockMethods.every((method) => typeof method === 'function');
  check.that(isClock, 'clock', 'a Clock, such as that of createFakeClock', config.clock);
  check.that(logger === undefined || typeof logger?.error === 'function', 'logger', 'a Logger', logger);
  const output = outputSchema && resolveOutputSchema(outputSchema, outputJsonSchema, `outputSchema of ${owner}`);
  const hasJsonMode = provider.jsonMode === true;
  const responseFormat = output && { responseFormat: output.responseFormat };
  const toCandidate = (entry: FallbackEntry, index: number): ModelCandidate => {
    const { tools: ownTools, ...settings } = entry.model ?? model;
    if (entry.model !== undefined) {
      const place = `provider ${index + 1} of ${owner}`;
      checkModelOptions(entry.model, place, hasTools);
      const noTools = 'omitted: pass them as model.tools of the agent';
      if (ownTools !== undefined) throw new InvalidOptionError(`model.tools of ${place}`, noTools, ownTools);
    }
    if (needsPrice) checkPrice(settings, prices, check);
    const own = { ...settings, ...responseFormat };
    const { timeoutMs: _enforcedByCaller, toolChoice: _sentWithTools, ...sent } = own;
    return { name, description, provider: entry.provider, model: own, sent, maxTokensLimit: new MaxTokensLimit() };
  };
  const [first, ...others] = candidatesOf(provider).map(toCandidate);
  if (first === undefined) throw new InvalidOptionError(`provider of ${owner}`, 'a provider', provider);
  return {
    name,
    description,
    systemPrompt:
      output && !hasJsonMode && typeof systemPrompt === 'string' ? withFormat(systemPrompt, output) : systemPrompt,
    provider: first.provider,
    model: first.model,
    candidates: [first, ...others],
    output: output && outputSchema && { schema: output, retries: outputRetries, given: outputSchema },
    tools: createToolSource(name, ownTools, registry, model.tools),
    turnTools: turnTools && createTurnTools(name, turnTools, registry, model.tools),
    hooks: { prepareTurn, beforeTool, afterModel },
    isHooked: [turnTools, prepareTurn, beforeTool, afterModel].some((hook) => hook !== undefined),
    hasJsonMode,
    memory,
    maxIterations,
    finalAnswerTurn,
    tokenBudget,
    prices,
    costBudget,
    spendLimits: spendLimits?.length === 0 ? undefined : spendLimits,
    retry: retry === undefined ? undefined : resolveRetry(retry, owner),
    onTokenUsage,
    registry,
    maxDelegationDepth,
    ...limits,
    maxRepeats,
    limit,
    contextTokens,
    maxRetryAfterMs: { inProcess: maxRetryAfterMs ?? 60_000, ofEvent: maxRetryAfterMs ?? 3_600_000 },
    logger: logger && guardLogger(logger),
    clock,
    totals: createTotals(),
  };
}

/** Checks that calls of a model have a known cost if a budget depends on it. */
function checkPrice({ model, cache }: ModelOptions, prices: PriceList | undefined, check: OptionChecker): void {
  const price = prices?.get(model);
  check.that(price !== undefined, 'prices', `set for ${describe(model)} if there is a costBudget`, price);
  const isCacheKnown = !cache || price?.cacheWrite !== undefined;
  check.that(isCacheKnown, `prices[${describe(model)}].cacheWrite`, 'set if the model has cache: true', undefined);
}

function isMemory(memory: AgentMemory): boolean {
  return typeof memory?.addMessage === 'function' && typeof memory.getMessages === 'function';
}
