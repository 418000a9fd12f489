import type { LanguageModelV3CallOptions } from '@ai-sdk/provider';
import { InvalidOptionError, quote } from '../../errors.js';
import { limitsOf } from '../../hub/events/attempt-ctx.js';
import type { HandlerCtx } from '../../hub/events/context.js';
import type { RetryConfig } from '../../hub/events/retry-policy.js';
import { checkLimit, type Limit } from '../../hub/limits/limit.js';
import type { RunCtx } from '../../hub/runs/step.js';
import { OptionChecker } from '../../options.js';
import type { Clock } from '../../transports/clock.js';
import { type Logger, silentLogger } from '../../transports/transport.js';
import { AbortableWaits } from '../abortable.js';
import { type AgentSpec, specOf } from '../agent-spec.js';
import { createAgent } from '../create-agent.js';
import type { Message, ToolDefinition } from '../model/message.js';
import type { OnDelta, PaidAnswer } from '../model/model-answer.js';
import { describeFormat, type ModelOptions, type ModelProvider, type ResponseFormat } from '../model/model-provider.js';
import { TokenLedger } from '../model/token-ledger.js';
import type { TokenUsage } from '../model/token-usage.js';
import type { Source, VendorCall } from '../model/vendor-parts.js';
import type { ModelCandidate } from '../run/candidate-caller.js';
import { ModelCaller } from '../run/model-caller.js';
import { metadataKey, toMessages } from './prompt-messages.js';

/** Options of {@link asLanguageModel}. */
export interface AsLanguageModelOptions {
  /** Retry policy for failed calls that {@link ProviderError.retryable} allows to retry. @default one attempt */
  retry?: RetryConfig;
  /** Maximum delay that a vendor's `Retry-After` can cause, in milliseconds. @default 60_000 */
  maxRetryAfterMs?: number;
  /** Limit that each call takes a permit of, retries included. @default no limit */
  limit?: Limit;
  /**
   * Context of a handler or a workflow's function, whose hub holds `limit` over all processes.
   * @default the limit holds within the process
   */
  hubCtx?: HandlerCtx | RunCtx;
  /** Called with the token usage after each call. Its errors are logged and change nothing. */
  onTokenUsage?: (usage: TokenUsage) => void;
  /** Receives the change to another provider, and settings that the model ignores. @default none */
  logger?: Logger;
  /** Clock for timeouts and retry delays. @default the system clock */
  clock?: Clock;
}

const optionNames: Record<keyof AsLanguageModelOptions, true> = {
  retry: true,
  maxRetryAfterMs: true,
  limit: true,
  hubCtx: true,
  onTokenUsage: true,
  logger: true,
  clock: true,
};

type JsonValue = null | string | number | boolean | JsonValue[] | { [name: string]: JsonValue | undefined };

/** Metadata that the vendor expects back with an answer. The AI SDK keeps it with the message. */
export type ProviderModelMetadata = Record<string, { [name: string]: JsonValue | undefined }>;

/** Complete part of an answer. */
export type ProviderModelContent = { providerMetadata?: ProviderModelMetadata } & (
  | { type: 'text'; text: string }
  | { type: 'tool-call'; toolCallId: string; toolName: string; input: string }
  | ProviderVendorPart
);

/** Source of an answer, or call of a tool that the vendor ran. */
export type ProviderVendorPart =
  | { type: 'source'; sourceType: 'url'; id: string; url: string; title?: string }
  | { type: 'source'; sourceType: 'document'; id: string; mediaType: string; title: string; filename?: string }
  | { type: 'tool-call'; toolCallId: string; toolName: string; input: string; providerExecuted: true; dynamic: true }
  | {
      type: 'tool-result';
      toolCallId: string;
      toolName: string;
      result: NonNullable<JsonValue>;
      isError?: true;
      dynamic: true;
    };

/** Part of a call that providers do not have, and which is ignored. */
export interface ProviderModelWarning {
  type: 'unsupported';
  feature: string;
}

/** End of an answer. */
export interface ProviderModelFinish {
  finishReason: { unified: 'stop' | 'length' | 'tool-calls' | 'error'; raw: string };
  usage: {
    inputTokens: { total: number; noCache: number; cacheRead: number; cacheWrite: number };
    outputTokens: { total: number; text: number; reasoning: number };
  };
}

/** Part of a streamed answer. */
export type ProviderModelPart = { providerMetadata?: ProviderModelMetadata } & (
  | { type: 'stream-start'; warnings: ProviderModelWarning[] }
  | { type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; id: string }
  | { type: 'text-delta' | 'reasoning-delta' | 'tool-input-delta'; id: string; delta: string }
  | { type: 'tool-input-start'; id: string; toolName: string }
  | { type: 'tool-input-end'; id: string }
  | { type: 'tool-call'; toolCallId: string; toolName: string; input: string }
  | ProviderVendorPart
  | ({ type: 'finish' } & ProviderModelFinish)
  | { type: 'error'; error: unknown }
);

/** Language model of the AI SDK, specification v3, whose calls a model provider makes. */
export interface ProviderLanguageModel {
  readonly specificationVersion: 'v3';
  /** Name of the provider. */
  readonly provider: string;
  readonly modelId: string;
  /** Addresses that the AI SDK passes on: none, it reads the files itself. */
  readonly supportedUrls: Record<string, RegExp[]>;
  /**
   * Requests a complete answer. The AI SDK defines the options. Rejects with {@link ProviderError}, or with the reason of
   * an abort.
   */
  doGenerate(
    options: object,
  ): Promise<{ content: ProviderModelContent[]; warnings: ProviderModelWarning[] } & ProviderModelFinish>;
  /** Requests a streamed answer. The AI SDK defines the options. A failure is a part of the stream. */
  doStream(options: object): Promise<{ stream: ReadableStream<ProviderModelPart> }>;
}

/**
 * Returns a model provider as a language model of the AI SDK: `fallbackProvider`, a provider class, a scripted one or
 * your own. Each call has the timeout of the model's settings, retries, the limit, and the next provider of a
 * `fallbackProvider`. The AI SDK repeats no call, because failures are no errors of its own.
 *
 * @param model id of the model, or the model with its settings. Those of a call override them, with every provider
 *
 * @example
 * const model = asLanguageModel(fallbackProvider([{ provider: anthropic }, { provider: openai, model: other }]), 'claude-sonnet-4-5');
 * const { text } = await generateText({ model, prompt: 'Hello' });
 *
 * @throws {InvalidOptionError}
 */
export function asLanguageModel(
  provider: ModelProvider,
  model: string | ModelOptions,
  options: AsLanguageModelOptions = {},
): ProviderLanguageModel {
  const owner = 'asLanguageModel';
  new OptionChecker(options, Object.keys(optionNames), owner);
  const { hubCtx, limit, ...others } = options;
  if (limit !== undefined) checkLimit(limit, `limit of ${owner}`);
  const settings = typeof model === 'string' ? { model } : model;
  // Checks the options, and fills in their defaults.
  const agent = createAgent({ name: owner, systemPrompt: '', provider, model: settings, ...others });
  const spec = specOf(agent);
  if (spec === undefined) throw new InvalidOptionError(`provider of ${owner}`, 'a provider', provider);
  const calls = new ProviderCalls(spec, limit, hubCtx);
  return {
    specificationVersion: 'v3',
    provider: provider.name ?? 'unknown',
    modelId: settings.model,
    supportedUrls: {},
    async doGenerate(options) {
      const call = toCall(options);
      const request = toRequest(spec, call);
      const answer = await calls.ask(request, call.abortSignal, undefined);
      return { content: toContent(answer), ...toFinish(answer), warnings: request.warnings };
    },
    async doStream(options) {
      const call = toCall(options);
      const request = toRequest(spec, call);
      const ask = (onDelta: OnDelta): Promise<PaidAnswer> => calls.ask(request, call.abortSignal, onDelta);
      return { stream: streamOf(ask, request.warnings) };
    },
  };
}

/** The public type has no types of a package that need not be installed. */
function toCall(options: object): LanguageModelV3CallOptions {
  return options as LanguageModelV3CallOptions;
}

interface ProviderRequest {
  readonly messages: Message[];
  readonly tools: ToolDefinition[];
  readonly candidates: AgentSpec['candidates'];
  readonly warnings: ProviderModelWarning[];
}

/** Returns the request of a call, with a warning for each part of it that providers do not have. */
function toRequest({ candidates, hasJsonMode }: AgentSpec, call: LanguageModelV3CallOptions): ProviderRequest {
  const { prompt, temperature, topP, maxOutputTokens, stopSequences, seed, toolChoice, responseFormat } = call;
  const unsupported = new Set<string>();
  const messages = toMessages(prompt, (type) => unsupported.add(`parts of type ${type}`));
  const tools: ToolDefinition[] = [];
  for (const tool of call.tools ?? []) {
    if (tool.type === 'provider') unsupported.add(`tool ${tool.id}`);
    // JSON Schema, which its own type describes in detail.
    else tools.push({ name: tool.name, description: tool.description ?? '', parameters: { ...tool.inputSchema } });
  }
  for (const setting of ['topK', 'presencePenalty', 'frequencyPenalty'] as const) {
    if (call[setting] !== undefined) unsupported.add(setting);
  }
  const format = responseFormat?.type === 'json' ? formatOf(responseFormat.schema) : undefined;
  if (format !== undefined && !hasJsonMode) addInstruction(messages, describeFormat(format));
  const { [metadataKey]: _own, ...providerOptions } = call.providerOptions ?? {};
  const own: Partial<ModelOptions> = {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(maxOutputTokens !== undefined && { maxTokens: maxOutputTokens }),
    ...(stopSequences !== undefined && { stop: stopSequences }),
    ...(seed !== undefined && { seed }),
    ...(format && hasJsonMode && { responseFormat: format }),
    ...(Object.keys(providerOptions).length > 0 && { providerOptions }),
  };
  const choice = toolChoice?.type === 'tool' ? { tool: toolChoice.toolName } : toolChoice?.type;
  const withCall = (candidate: ModelCandidate): ModelCandidate => ({
    ...candidate,
    model: { ...candidate.model, ...own },
    sent: { ...candidate.sent, ...own },
    ...(choice !== undefined && { turnChoice: choice }),
  });
  const [first, ...rest] = candidates;
  const warnings = [...unsupported].map((feature): ProviderModelWarning => ({ type: 'unsupported', feature }));
  return { messages, tools, candidates: [withCall(first), ...rest.map(withCall)], warnings };
}

function formatOf(schema: object | undefined): ResponseFormat {
  return { type: 'json', schema: { ...(schema ?? { type: 'object' }) } };
}

function addInstruction(messages: Message[], instruction: string): void {
  const first = messages[0];
  if (first?.role === 'system') messages[0] = { ...first, content: `${first.content}\n\n${instruction}` };
  else messages.unshift({ role: 'system', content: instruction });
}

/** Makes the calls of one language model. */
class ProviderCalls {
  readonly #spec: AgentSpec;
  readonly #limit: Limit | undefined;
  readonly #hubCtx: HandlerCtx | RunCtx | undefined;

  constructor(spec: AgentSpec, limit: Limit | undefined, hubCtx: HandlerCtx | RunCtx | undefined) {
    this.#spec = spec;
    this.#limit = limit;
    this.#hubCtx = hubCtx;
  }

  async ask(
    { messages, tools, candidates }: ProviderRequest,
    signal: AbortSignal | undefined,
    onDelta: OnDelta | undefined,
  ): Promise<PaidAnswer> {
    signal?.throwIfAborted();
    const { onTokenUsage, logger = silentLogger } = this.#spec;
    const limit = this.#limit;
    const ctx = { runId: crypto.randomUUID(), logger };
    const listeners = onTokenUsage === undefined ? [] : [onTokenUsage];
    const ledger = new TokenLedger({}, undefined, listeners, (err) => {
      logger.error({ err }, `onTokenUsage of model ${quote(candidates[0].model.model)} failed`);
    });
    const waits = new AbortableWaits(signal);
    const limits = limitsOf(this.#hubCtx);
    const caller = new ModelCaller(
      { ...this.#spec, candidates },
      ctx,
      ledger,
      waits,
      onDelta,
      undefined,
      limit && ((_attempt, call) => limits.run(limit, waits, call)),
    );
    const inputIndex = messages.findLastIndex(({ role }) => role === 'user');
    try {
      const answer = await caller.call(messages, inputIndex, tools);
      if (answer === undefined) throw new Error('unreachable: a call without a budget');
      return answer;
    } finally {
      caller.close();
      waits.close();
    }
  }
}

function toContent(answer: PaidAnswer): ProviderModelContent[] {
  const { content, toolCalls } = answer;
  const parts: ProviderModelContent[] = content === '' ? [] : [{ type: 'text', text: content }];
  for (const call of answer.vendorCalls ?? []) parts.push(...toVendorParts(call));
  for (const source of answer.sources ?? []) parts.push(toSourcePart(source));
  for (const call of toCalls(answer)) parts.push(call);
  const [first] = parts;
  const metadata = metadataOf(answer);
  // With a text, the calls have none.
  if (toolCalls.length === 0 && first !== undefined && metadata !== undefined) first.providerMetadata = metadata;
  return parts;
}

type VendorPart = ProviderVendorPart & { providerMetadata?: ProviderModelMetadata };

function toSourcePart(source: Source): VendorPart {
  const { id, title } = source;
  if (source.type === 'url') {
    return { type: 'source', sourceType: 'url', id, url: source.url, ...(title !== undefined && { title }) };
  }
  const { mediaType, filename } = source;
  const named = { title: title ?? filename ?? mediaType, ...(filename !== undefined && { filename }) };
  return { type: 'source', sourceType: 'document', id, mediaType, ...named };
}

function toVendorParts({
  id: toolCallId,
  name: toolName,
  arguments: input,
  result,
  isError,
}: VendorCall): VendorPart[] {
  const call: VendorPart = {
    type: 'tool-call',
    toolCallId,
    toolName,
    input: input.trim() === '' ? '{}' : input,
    providerExecuted: true,
    dynamic: true,
  };
  if (result === undefined || result === null) return [call];
  // JSON, as the vendor sent it.
  const value = result as NonNullable<JsonValue>;
  return [
    call,
    { type: 'tool-result', toolCallId, toolName, result: value, dynamic: true, ...(isError && { isError }) },
  ];
}

type ToolCallPart = Extract<ProviderModelContent, { type: 'tool-call' }>;

/** Returns the calls of an answer, of which the first has its metadata. */
function toCalls(answer: PaidAnswer): ToolCallPart[] {
  const metadata = metadataOf(answer);
  return answer.toolCalls.map(({ id, name, arguments: input }, index) => ({
    type: 'tool-call',
    // The AI SDK tells calls apart by their ids.
    toolCallId: id === '' ? crypto.randomUUID() : id,
    toolName: name,
    input: input.trim() === '' ? '{}' : input,
    ...(index === 0 && metadata && { providerMetadata: metadata }),
  }));
}

function metadataOf({ providerMetadata }: PaidAnswer): ProviderModelMetadata | undefined {
  // JSON, as every provider's metadata of a message.
  return providerMetadata && ({ [metadataKey]: { message: providerMetadata } } as ProviderModelMetadata);
}

const finishReasons = { stop: 'stop', tool_calls: 'tool-calls', length: 'length' } as const;

function toFinish({ finishReason, unreadableCall, usage }: PaidAnswer): ProviderModelFinish {
  const { promptTokens, completionTokens, cachedTokens = 0, cacheWriteTokens = 0, reasoningTokens = 0 } = usage;
  return {
    finishReason:
      unreadableCall === undefined
        ? { unified: finishReasons[finishReason], raw: finishReason }
        : { unified: 'error', raw: unreadableCall },
    usage: {
      inputTokens: {
        total: promptTokens,
        noCache: promptTokens - cachedTokens - cacheWriteTokens,
        cacheRead: cachedTokens,
        cacheWrite: cacheWriteTokens,
      },
      outputTokens: { total: completionTokens, text: completionTokens - reasoningTokens, reasoning: reasoningTokens },
    },
  };
}

/** Streams an answer. A failure is a part of the stream, as vendors' packages report it. */
function streamOf(
  ask: (onDelta: OnDelta) => Promise<PaidAnswer>,
  warnings: ProviderModelWarning[],
): ReadableStream<ProviderModelPart> {
  let open: { readonly kind: 'text' | 'reasoning'; readonly id: string } | undefined;
  let blocks = 0;
  let isCancelled = false;
  /** Calls of the vendor that were sent. */
  const begun = new Set<string>();
  return new ReadableStream({
    start(controller) {
      const send = (part: ProviderModelPart): void => {
        if (!isCancelled) controller.enqueue(part);
      };
      const end = (metadata?: ProviderModelMetadata): void => {
        if (open === undefined) return;
        send({ type: `${open.kind}-end`, id: open.id, ...(metadata && { providerMetadata: metadata }) });
        open = undefined;
      };
      const onDelta: OnDelta = (part) => {
        if (!('text' in part)) {
          end();
          for (const vendor of part.kind === 'source' ? [toSourcePart(part.source)] : toVendorParts(part.call)) {
            // A call with its result follows the call.
            if (vendor.type !== 'tool-call' || part.kind === 'source' || !begun.has(part.call.id)) send(vendor);
          }
          if (part.kind === 'vendor-call') begun.add(part.call.id);
          return undefined;
        }
        const { kind, text: delta } = part;
        if (open?.kind !== kind) {
          end();
          blocks += 1;
          open = { kind, id: String(blocks) };
          send({ type: `${kind}-start`, id: open.id });
        }
        send({ type: `${kind}-delta`, id: open.id, delta });
        return undefined;
      };
      send({ type: 'stream-start', warnings });
      const finish = (answer: PaidAnswer): void => {
        end(answer.toolCalls.length === 0 ? metadataOf(answer) : undefined);
        for (const call of toCalls(answer)) {
          const { toolCallId: id, toolName, input } = call;
          send({ type: 'tool-input-start', id, toolName });
          send({ type: 'tool-input-delta', id, delta: input });
          send({ type: 'tool-input-end', id });
          send(call);
        }
        send({ type: 'finish', ...toFinish(answer) });
      };
      void ask(onDelta)
        .then(finish, (error: unknown) => send({ type: 'error', error }))
        .finally(() => {
          if (!isCancelled) controller.close();
        });
    },
    cancel() {
      isCancelled = true;
    },
  });
}
