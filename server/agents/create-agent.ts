import type { StandardSchemaV1 } from '@standard-schema/spec';
import { describe, InvalidOptionError } from '../errors.js';
import { type RetryConfig, resolveRetry } from '../hub/events/retry-policy.js';
import { guardLogger } from '../hub/guard-logger.js';
import type { JsonSchema } from '../json-schema.js';
import { OptionChecker } from '../options.js';
import { type Clock, systemClock } from '../transports/clock.js';
import type { Logger } from '../transports/transport.js';
import { either } from './abortable.js';
import type { ModelAgent } from './agent/agent.js';
import { createAgentStream } from './agent/agent-stream.js';
import type { SettledAgentRun } from './agent/run-result.js';
import { type AgentSpec, createTotals, introspectable } from './agent-spec.js';
import { toHandler } from './as-handler.js';
import { observeRun } from './gen-ai-operations.js';
import type { AgentMemory } from './memory/conversation-memory.js';
import { checkModelOptions, describeFormat, type ModelOptions, type ModelProvider } from './model/model-provider.js';
import { type OutputSchema, resolveOutputSchema } from './model/output-schema.js';
import { type ModelPrice, type PriceList, resolvePrices } from './model/price.js';
import type { TokenUsage } from './model/token-usage.js';
import { AgentRegistry, createToolSource } from './multi-agent/delegation.js';
import { candidatesOf, type FallbackEntry } from './providers/fallback-provider.js';
import { MaxTokensLimit, type ModelCandidate } from './run/candidate-caller.js';
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
    return observed(spec, request) as Promise<SettledAgentRun<TData>>;
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

/** Runs an agent, and observes the part of its run that this process executes. */
async function observed(spec: AgentSpec, request: RunRequest): Promise<SettledAgentRun> {
  const { place, runId } = request;
  if (place === undefined) return observeRun(spec, runId, () => runAgent(spec, request));
  const runHere = (): Promise<SettledAgentRun | undefined> =>
    new Promise((resolve, reject) => {
      place.run.onLeave(() => resolve(undefined));
      runAgent(spec, request).then(resolve, reject);
    });
  const result = await observeRun(spec, runId, runHere);
  // The run is suspended, or another process has it: nothing of it may go on here.
  return result ?? new Promise<never>(() => {});
}

/** Options of `createAgent`. `TData` is the output type of `outputSchema`. */
export interface AgentConfig<TData = unknown> {
  /** Name of the agent in registries, in memory and on the dashboard. */
  name: string;
  /** Purpose of the agent. Other agents read it to choose a delegate. */
  description?: string;
  /** First message of every model call. Never stored in memory. */
  systemPrompt: string;
  /** Provider that makes the model calls. */
  provider: ModelProvider;
  /** Model and its settings. The agent sets `signal` itself, and adds its own tools to `tools`. */
  model: ModelOptions;
  /** Tools that the model can call. @default none */
  tools?: Tool[];
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
  outputSchema: true,
  outputJsonSchema: true,
  outputRetries: true,
  memory: true,
  maxIterations: true,
  finalAnswerTurn: true,
  tokenBudget: true,
  prices: true,
  costBudget: true,
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
  const { costBudget } = config;
  const owner = `agent ${describe(name)}`;
  const check = new OptionChecker(config, optionNames, owner);
  check.that(typeof name === 'string' && name !== '', 'name', 'a non-empty string', name);
  check.string('description', description);
  check.that(typeof systemPrompt === 'string', 'systemPrompt', 'a string', systemPrompt);
  check.required('provider', provider);
  check.methods('provider', provider, ['chat']);
  check.that(Array.isArray(tools), 'tools', 'an array', tools);
  const hasTools = tools.length > 0 || registry !== undefined || (model?.tools?.length ?? 0) > 0;
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
  check.function('onTokenUsage', onTokenUsage);
  check.that(registry === undefined || registry instanceof AgentRegistry, 'registry', 'an AgentRegistry', registry);
  check.count('maxDelegationDepth', maxDelegationDepth, { min: 0 });
  const limits = { maxDelegations, maxParallelToolCalls, maxToolCalls, maxToolResultChars };
  for (const [option, limit] of Object.entries(limits)) {
    if (limit !== Number.POSITIVE_INFINITY) check.count(option, limit, { min: option === 'maxDelegations' ? 0 : 1 });
  }
  if (maxRepeats !== Number.POSITIVE_INFINITY) check.count('maxRepeats', maxRepeats, { min: 2 });
  check.durationMs('maxRetryAfterMs', maxRetryAfterMs);
  check.count('contextTokens', contextTokens);
  const clockMethods = [clock?.now, clock?.monotonic, clock?.after, clock?.soon];
  const isClock = clockMethods.every((method) => typeof method === 'function');
  check.that(isClock, 'clock', 'a Clock, such as that of createFakeClock', config.clock);
  check.that(logger === undefined || typeof logger?.error === 'function', 'logger', 'a Logger', logger);
  const output = outputSchema && resolveOutputSchema(outputSchema, outputJsonSchema, `outputSchema of ${owner}`);
  const responseFormat = output && { responseFormat: output.responseFormat };
  const toCandidate = (entry: FallbackEntry, index: number): ModelCandidate => {
    const { tools: own, ...settings } = entry.model ?? model;
    if (entry.model !== undefined) {
      const place = `provider ${index + 1} of ${owner}`;
      checkModelOptions(entry.model, place, hasTools);
      const noTools = 'omitted: pass them as model.tools of the agent';
      if (own !== undefined) throw new InvalidOptionError(`model.tools of ${place}`, noTools, own);
    }
    checkPrice(settings, prices, costBudget, check);
    const maxTokensLimit = new MaxTokensLimit();
    return { name, description, provider: entry.provider, model: { ...settings, ...responseFormat }, maxTokensLimit };
  };
  const [first, ...others] = candidatesOf(provider).map(toCandidate);
  if (first === undefined) throw new InvalidOptionError(`provider of ${owner}`, 'a provider', provider);
  return {
    name,
    description,
    systemPrompt: output === undefined || provider.jsonMode ? systemPrompt : withFormat(systemPrompt, output),
    provider: first.provider,
    model: first.model,
    candidates: [first, ...others],
    output: output && { schema: output, retries: outputRetries },
    tools: createToolSource(name, tools, registry, model.tools),
    memory,
    maxIterations,
    finalAnswerTurn,
    tokenBudget,
    prices,
    costBudget,
    retry: retry === undefined ? undefined : resolveRetry(retry, owner),
    onTokenUsage,
    registry,
    maxDelegationDepth,
    ...limits,
    maxRepeats,
    contextTokens,
    maxRetryAfterMs: { inProcess: maxRetryAfterMs ?? 60_000, ofEvent: maxRetryAfterMs ?? 3_600_000 },
    logger: logger && guardLogger(logger),
    clock,
    totals: createTotals(),
  };
}

/** Checks that calls of a model have a known cost if a budget depends on it. */
function checkPrice(
  { model, cache }: ModelOptions,
  prices: PriceList | undefined,
  costBudget: number | undefined,
  check: OptionChecker,
): void {
  if (costBudget === undefined) return;
  const price = prices?.get(model);
  check.that(price !== undefined, 'prices', `set for ${describe(model)} if there is a costBudget`, price);
  const isCacheKnown = !cache || price?.cacheWrite !== undefined;
  check.that(isCacheKnown, `prices[${describe(model)}].cacheWrite`, 'set if the model has cache: true', undefined);
}

function withFormat(systemPrompt: string, { responseFormat }: OutputSchema): string {
  const format = describeFormat(responseFormat);
  return systemPrompt === '' ? format : `${systemPrompt}\n\n${format}`;
}

function isMemory(memory: AgentMemory): boolean {
  return typeof memory?.addMessage === 'function' && typeof memory.getMessages === 'function';
}
