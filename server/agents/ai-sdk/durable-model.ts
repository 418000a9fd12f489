import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3Content,
  LanguageModelV3FinishReason,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  LanguageModelV3StreamResult,
  LanguageModelV3Usage,
} from '@ai-sdk/provider';
import { HubError, quote } from '../../errors.js';
import { limitsOf, reportAgents } from '../../hub/events/attempt-ctx.js';
import type { HandlerCtx } from '../../hub/events/context.js';
import { StepResult } from '../../hub/events/durable-place.js';
import { type AgentSource, shownUsage } from '../../hub/events/reported-agents.js';
import { type ResolvedRetry, type RetryConfig, resolveRetry } from '../../hub/events/retry-policy.js';
import { checkLimit, isRate, type Limit } from '../../hub/limits/limit.js';
import type { RunCtx } from '../../hub/runs/step.js';
import { OptionChecker } from '../../options.js';
import { systemClock } from '../../transports/clock.js';
import { abortable, delay } from '../abortable.js';
import { type AgentTotals, countBegin, countTokens, createTotals } from '../agent-spec.js';
import { BudgetExceededError } from '../errors.js';
import { observeChat } from '../gen-ai-operations.js';
import { estimateMessageTokens, estimateUsage } from '../model/message.js';
import type { FinishReason } from '../model/model-provider.js';
import { type ModelPrice, resolvePrices } from '../model/price.js';
import { CutStreamError, ModelTimeoutError, ProviderError } from '../model/provider-error.js';
import { TokenLedger } from '../model/token-ledger.js';
import { addUsage, noUsage, reportedUsage, type TokenUsage } from '../model/token-usage.js';
import { toUsage } from '../providers/answer-builder.js';
import { assertModel, isUnknownEvent, type LanguageModel, telemetryProviderName } from '../providers/language-model.js';
import { toProviderError } from '../providers/to-provider-error.js';
import { MaxTokensLimit } from '../run/candidate-caller.js';
import { CallBudget, retryDelayMs } from '../run/model-caller.js';
import { fromJsonValue, toJsonValue } from './json-value.js';
import { LiveParts, RecordedParts, textOf } from './live-parts.js';
import { toMessages } from './prompt-messages.js';
import { hashOf, type RecordedCall, RecordedCalls } from './recorded-calls.js';

/** Options of {@link durableModel}. */
export interface DurableModelOptions {
  /** Name by which records, logs and the dashboard show the calls, as that of an agent. @default the id of the model */
  name?: string;
  /** Limit that each call takes a permit of, retries included. @default no limit */
  limit?: Limit;
  /**
   * Retry policy for failed calls that {@link ProviderError.retryable} allows to retry. The AI SDK repeats no call of the
   * model, because failures are no errors of its own. @default { maxAttempts: 3, initialDelayMs: 2_000 }
   */
  retry?: RetryConfig;
  /** Maximum delay that a vendor's `Retry-After` can cause, in milliseconds. @default 60_000 */
  maxRetryAfterMs?: number;
  /** Milliseconds until a call fails with {@link ModelTimeoutError}. @default 600_000 */
  timeoutMs?: number;
  /** Prices by model, per million tokens, in a currency of your choice. @default none */
  prices?: Readonly<Record<string, ModelPrice>>;
  /**
   * Maximum number of tokens of all calls of this model in the run, those of earlier attempts included. A call that does
   * not fit fails with {@link BudgetExceededError}. @default no limit
   */
  tokenBudget?: number;
  /** Maximum cost of these calls in the currency of `prices`, which it requires. @default no limit */
  costBudget?: number;
  /** Called with the token usage after each call, not when a recorded answer is used again. Its errors are logged. */
  onTokenUsage?: (usage: TokenUsage) => void;
}

// A record, so that the compiler misses no option.
const optionNames: Record<keyof DurableModelOptions, true> = {
  name: true,
  limit: true,
  retry: true,
  maxRetryAfterMs: true,
  timeoutMs: true,
  prices: true,
  tokenBudget: true,
  costBudget: true,
  onTokenUsage: true,
};

/** Language model of the AI SDK whose calls are recorded: the functions of the AI SDK take it in place of the model. */
export type DurableModel<TModel extends LanguageModel> = Pick<
  TModel,
  keyof LanguageModel | Extract<keyof TModel, 'supportedUrls'>
>;

/**
 * Returns a language model of the AI SDK whose calls are steps of the run: `generateText`, `streamText` and
 * `ToolLoopAgent` use it unchanged. A recorded answer is not paid for again: the nth call of a run returns the nth answer,
 * provided that its messages are the same. An answer is what was recorded, fresh or not: without the bodies and headers of
 * requests and responses. Run tools with `durableTools`: their results are part of the messages.
 *
 * A streamed answer is passed on while it arrives, up to the first call of a tool: that, and the end, follow when the
 * answer is recorded. A recorded one is streamed at once. A stream that was interrupted is requested again.
 *
 * @param model a model object; for a name of a model, `gateway(name)`
 * @param ctx context of a workflow's function, or of a handler in `durableHandler`
 *
 * @example
 * run: async (ctx) => {
 *   const model = durableModel(openai('gpt-5'), ctx, { name: 'planner', limit });
 *   const { text } = await generateText({ model, tools: durableTools(tools, ctx), prompt: ctx.input.question });
 *   return text;
 * }
 *
 * @throws {InvalidOptionError}
 */
export function durableModel<TModel extends LanguageModel>(
  model: TModel,
  ctx: HandlerCtx | RunCtx,
  options: DurableModelOptions = {},
): DurableModel<TModel> {
  assertModel(model, 'model of durableModel');
  // The additions of v4 to v3 pass through.
  const v3 = model as unknown as LanguageModelV3;
  const settings = resolveOptions(options, v3.modelId);
  const calls = new ModelCalls(v3, new RecordedCalls(ctx, settings.name, 'durableModel'), ctx, settings);
  const durable: LanguageModelV3 = {
    specificationVersion: v3.specificationVersion,
    provider: v3.provider,
    modelId: v3.modelId,
    supportedUrls: v3.supportedUrls,
    doGenerate: (call) => calls.generate(call),
    doStream: (call) => calls.stream(call),
  };
  // It has what the type picks, with the functions of the model's own version.
  return durable as unknown as DurableModel<TModel>;
}

interface Settings {
  readonly name: string;
  readonly limit: Limit | undefined;
  readonly retry: ResolvedRetry;
  readonly maxRetryAfterMs: number;
  readonly timeoutMs: number;
  readonly budgets: ConstructorParameters<typeof TokenLedger>[0];
  readonly onTokenUsage: ((usage: TokenUsage) => void) | undefined;
}

function resolveOptions(options: DurableModelOptions, modelId: string): Settings {
  const owner = 'durableModel';
  const check = new OptionChecker(options, Object.keys(optionNames), owner);
  const { name = modelId, limit, maxRetryAfterMs = 60_000, timeoutMs = 600_000, tokenBudget, costBudget } = options;
  const { retry = { maxAttempts: 3, initialDelayMs: 2_000 }, onTokenUsage } = options;
  check.that(typeof name === 'string' && name !== '', 'name', 'a non-empty string', name);
  if (limit !== undefined) checkLimit(limit, `limit of ${owner}`);
  check.durationMs('maxRetryAfterMs', maxRetryAfterMs);
  check.durationMs('timeoutMs', timeoutMs, { min: 1 });
  check.count('tokenBudget', tokenBudget);
  const isCost = costBudget === undefined || (Number.isFinite(costBudget) && costBudget > 0);
  check.that(isCost, 'costBudget', 'a number above 0', costBudget);
  const prices = options.prices && resolvePrices(options.prices, owner);
  const isPriced = costBudget === undefined || prices?.has(modelId) === true;
  check.that(isPriced, 'prices', `set for ${quote(modelId)} if there is a costBudget`, undefined);
  check.function('onTokenUsage', onTokenUsage);
  return {
    name,
    limit,
    retry: resolveRetry(retry, owner),
    maxRetryAfterMs,
    timeoutMs,
    budgets: { tokens: tokenBudget, cost: costBudget, prices },
    onTokenUsage,
  };
}

/** Recorded answer of a model: complete, or the parts of its stream, as JSON. */
interface RecordedAnswer extends RecordedCall {
  readonly result?: unknown;
  readonly parts?: unknown;
  /** Tokens of the call, those of failed attempts included. */
  readonly usage: TokenUsage;
}

/** Answer of one attempt at a call. */
interface Answer extends Pick<RecordedAnswer, 'result' | 'parts'> {
  readonly usage: LanguageModelV3Usage;
  readonly finishReason: LanguageModelV3FinishReason;
  /** Texts that the model wrote. */
  readonly texts: readonly string[];
}

/** Makes one attempt at a call. */
type Ask = (options: LanguageModelV3CallOptions) => Promise<Answer>;

/** Calls of one durable model. */
class ModelCalls {
  readonly #model: LanguageModelV3;
  readonly #calls: RecordedCalls;
  readonly #ctx: HandlerCtx | RunCtx;
  readonly #settings: Settings;
  readonly #ledger: TokenLedger;
  readonly #budget: CallBudget;
  readonly #maxTokens = new MaxTokensLimit();
  readonly #shown: ShownModel;
  #turns = 0;
  #isLive = false;

  constructor(model: LanguageModelV3, calls: RecordedCalls, ctx: HandlerCtx | RunCtx, settings: Settings) {
    const { name, budgets, onTokenUsage } = settings;
    this.#model = model;
    this.#calls = calls;
    this.#ctx = ctx;
    this.#settings = settings;
    this.#ledger = new TokenLedger(budgets, undefined, onTokenUsage === undefined ? [] : [onTokenUsage], (err) => {
      ctx.logger.error({ err }, `onTokenUsage of model ${quote(name)} failed`);
    });
    this.#budget = new CallBudget(this.#ledger);
    this.#shown = shownModel(name, model.modelId, budgets);
    reportAgents(ctx, this.#shown.source);
  }

  async generate(options: LanguageModelV3CallOptions): Promise<LanguageModelV3GenerateResult> {
    const { id, value } = await this.#record('result', options, async (sent) => {
      const answer = await this.#model.doGenerate(sent);
      const { content, finishReason, usage, providerMetadata, warnings, response } = answer;
      const metadata = response && { id: response.id, timestamp: response.timestamp, modelId: response.modelId };
      const result = toJsonValue({ content, finishReason, usage, providerMetadata, warnings, response: metadata });
      return { result, usage, finishReason, texts: content.map(textOf) };
    });
    // Written above.
    const result = fromJsonValue(value.result) as LanguageModelV3GenerateResult;
    this.#addToolCalls(id, result.content);
    return result;
  }

  async stream(options: LanguageModelV3CallOptions): Promise<LanguageModelV3StreamResult> {
    const live = new LiveParts();
    const read: Ask = async (sent) => {
      live.reset();
      const { stream } = await this.#model.doStream(sent);
      return this.#read(stream, live);
    };
    void this.#record('parts', options, read, live).then(
      ({ id, value, isReplayed }) => {
        // Written below.
        const parts = fromJsonValue(value.parts) as LanguageModelV3StreamPart[];
        this.#addToolCalls(id, parts);
        if (isReplayed) live.replay(parts);
        live.end();
      },
      (error: unknown) => live.fail(error),
    );
    await live.started;
    return { stream: live.stream };
  }

  async #read(stream: ReadableStream<LanguageModelV3StreamPart>, live: LiveParts): Promise<Answer> {
    const { provider } = this.#model;
    const recorded = new RecordedParts(provider);
    for await (const part of stream) {
      if (part.type === 'error') {
        if (isUnknownEvent(part.error, provider)) continue;
        throw part.error;
      }
      if (part.type === 'finish' && isInvented(part.finishReason, toUsage(part.usage))) break;
      recorded.add(part);
      live.push(part);
      if (part.type !== 'finish') continue;
      const { usage, finishReason } = part;
      return { parts: toJsonValue(recorded.parts), usage, finishReason, texts: recorded.parts.map(textOf) };
    }
    throw new CutStreamError(provider);
  }

  #addToolCalls(id: string, parts: readonly (LanguageModelV3Content | LanguageModelV3StreamPart)[]): void {
    const ids = parts.flatMap((part) => (part.type === 'tool-call' && !part.providerExecuted ? part.toolCallId : []));
    this.#calls.addToolCalls(id, ids);
  }

  async #record(
    kind: 'result' | 'parts',
    options: LanguageModelV3CallOptions,
    ask: Ask,
    live?: LiveParts,
  ): Promise<{ readonly id: string; readonly value: RecordedAnswer; readonly isReplayed: boolean }> {
    const { recordsFailures } = this.#calls;
    this.#turns += 1;
    const id = `${this.#calls.path}turn ${this.#turns}`;
    // The system prompt, like the settings, belongs to the code: a deploy may change it.
    const asked = hashOf([kind, options.prompt.filter(({ role }) => role !== 'system')]);
    const facts = { agent: this.#settings.name };
    let isAsked = false;
    const call = async (): Promise<StepResult<RecordedAnswer>> => {
      isAsked = true;
      const spent = this.#spentBefore(id);
      const { result, parts } = await this.#attempts(id, options, ask, spent, live);
      const recorded = { asked, result, parts, usage: spent };
      const turn = { ...facts, model: this.#model.modelId, usage: shownUsage(spent) };
      return new StepResult(recorded, turn, true);
    };
    const { limit } = this.#settings;
    try {
      const recorded = await this.#calls.record('model', id, asked, call, {
        recordsFailure: recordsFailures,
        facts,
        limit,
      });
      const { value, isReplayed } = recorded;
      if (isReplayed) this.#ledger.replay(value.usage);
      return { id, value, isReplayed };
    } catch (error) {
      if (!isAsked) this.#spentBefore(id);
      throw options.abortSignal?.aborted ? options.abortSignal.reason : error;
    }
  }

  /** Counts the tokens of calls that failed in earlier attempts, which no record of an answer has, and returns them. */
  #spentBefore(id: string): TokenUsage {
    const spent = noUsage();
    // Written by `#attempts`.
    for (const note of this.#calls.run.notesOn(id)) addUsage(spent, note as TokenUsage);
    this.#ledger.replay(spent);
    return spent;
  }

  /** Calls the model until it answers. @param spent receives the tokens of all attempts */
  async #attempts(
    id: string,
    options: LanguageModelV3CallOptions,
    ask: Ask,
    spent: TokenUsage,
    live: LiveParts | undefined,
  ): Promise<Answer> {
    const { signal } = this.#calls;
    const { totals } = this.#shown;
    if (!this.#isLive) countBegin(totals, systemClock.now());
    this.#isLive = true;
    const pay = (usage: TokenUsage): TokenUsage => {
      const priced = this.#budget.priced(usage, { model: this.#model.modelId });
      addUsage(spent, priced);
      countTokens(totals, priced, systemClock.now());
      void this.#ledger.charge(priced);
      return priced;
    };
    for (let attempt = 1; ; attempt += 1) {
      const turn = this.#ledger.takeTurn();
      const endTurn = turn && (await turn);
      let failure: unknown;
      try {
        const sent = this.#ledger.isLimited ? this.#within(options) : options;
        try {
          const answer = await this.#attempt(attempt, sent, ask);
          pay(toUsage(answer.usage) ?? estimateUsage(estimatePrompt(options), answer.texts));
          return answer;
        } catch (error) {
          failure = this.#failureOf(error, options);
          const usage = failure instanceof ProviderError ? reportedUsage(failure.usage) : undefined;
          // No answer may follow in this delivery.
          if (usage !== undefined) void this.#calls.run.note(id, pay(usage));
        }
      } finally {
        endTurn?.();
      }
      // A streamed text cannot be withdrawn, and a retry would stream it again.
      if (live?.isShown === true || signal.aborted) throw failure;
      const { retry, maxRetryAfterMs } = this.#settings;
      const delayMs = await retryDelayMs(retry, attempt, failure, maxRetryAfterMs);
      if (delayMs === undefined) throw failure;
      await delay(systemClock, delayMs, signal);
    }
  }

  /** Returns the options of a call that the budgets cover. @throws {BudgetExceededError} */
  #within(options: LanguageModelV3CallOptions): LanguageModelV3CallOptions {
    const { maxOutputTokens } = options;
    const { modelId } = this.#model;
    const limit = maxOutputTokens === undefined ? {} : { maxTokens: maxOutputTokens };
    const left = this.#budget.answerTokens({ model: modelId, ...limit }, estimatePrompt(options));
    if (left === undefined) {
      const { exhausted } = this.#ledger;
      // A model of the AI SDK has no other limits.
      throw new BudgetExceededError(this.#settings.name, exhausted === 'costBudget' ? exhausted : 'tokenBudget');
    }
    if (left === Number.POSITIVE_INFINITY) return options;
    const most = maxOutputTokens === undefined ? this.#maxTokens.within(left) : Math.min(maxOutputTokens, left);
    return most === undefined ? options : { ...options, maxOutputTokens: most };
  }

  async #attempt(attempt: number, options: LanguageModelV3CallOptions, ask: Ask): Promise<Answer> {
    const { limit } = this.#settings;
    const { waits } = this.#calls;
    // The step waits for the first permit itself, without a process.
    if (limit === undefined || attempt === 1 || !isRate(limit)) return this.#observed(attempt, options, ask);
    return limitsOf(this.#ctx).run(limit, waits, () => this.#observed(attempt, options, ask));
  }

  async #observed(attempt: number, options: LanguageModelV3CallOptions, ask: Ask): Promise<Answer> {
    const { provider, modelId: model } = this.#model;
    const { name } = this.#settings;
    const { temperature, maxOutputTokens } = options;
    const observed = {
      name,
      description: undefined,
      model: { model },
      provider: { name: telemetryProviderName(provider) },
    };
    const sent = {
      model,
      ...(temperature !== undefined && { temperature }),
      ...(maxOutputTokens !== undefined && { maxTokens: maxOutputTokens }),
    };
    let answer: Answer | undefined;
    await observeChat(observed, this.#calls.runId, attempt, sent, async () => {
      answer = await this.#inTime(options, ask);
      const usage = toUsage(answer.usage);
      return { content: '', toolCalls: [], finishReason: toFinishReason(answer.finishReason), ...(usage && { usage }) };
    });
    if (answer === undefined) throw new Error('unreachable: the observed call has ended');
    return answer;
  }

  async #inTime(options: LanguageModelV3CallOptions, ask: Ask): Promise<Answer> {
    const { timeoutMs } = this.#settings;
    const controller = new AbortController();
    const timeout = (): void => controller.abort(new ModelTimeoutError(this.#model.provider, timeoutMs));
    const timer = systemClock.after(timeoutMs, timeout);
    const { abortSignal } = options;
    const signals = [controller.signal, this.#calls.signal, ...(abortSignal === undefined ? [] : [abortSignal])];
    const signal = AbortSignal.any(signals);
    try {
      return await abortable(ask({ ...options, abortSignal: signal }), signal);
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    } finally {
      timer.cancel();
    }
  }

  #failureOf(error: unknown, { abortSignal }: LanguageModelV3CallOptions): unknown {
    const { signal } = this.#calls;
    if (signal.aborted || abortSignal?.aborted || HubError.is(error)) return error;
    return toProviderError(error, this.#model.provider, []);
  }
}

function estimatePrompt({ prompt }: LanguageModelV3CallOptions): number {
  return estimateMessageTokens(toMessages(prompt));
}

function toFinishReason({ unified }: LanguageModelV3FinishReason): FinishReason {
  return unified === 'tool-calls' ? 'tool_calls' : unified === 'length' ? 'length' : 'stop';
}

/** Packages invent the finish of a stream whose connection ended. */
function isInvented({ unified, raw }: LanguageModelV3FinishReason, usage: TokenUsage | undefined): boolean {
  // Version 4 of the specification adds the reason `interrupted`.
  const reason: string = unified;
  return reason === 'interrupted' || (reason === 'other' && raw === undefined && usage === undefined);
}

/** Model as the dashboard shows it: like an agent. */
interface ShownModel {
  readonly totals: AgentTotals;
  readonly source: AgentSource;
}

const shownModels = new Map<string, ShownModel>();
/** Maximum number of names that are counted apart. */
const maxShown = 1_000;

/** Returns the counts of a name in this process: an application creates a durable model per run. */
function shownModel(name: string, model: string, { tokens, cost }: Settings['budgets'] = {}): ShownModel {
  const key = JSON.stringify([name, model]);
  const known = shownModels.get(key);
  if (known !== undefined) return known;
  const totals = createTotals();
  const source: AgentSource = () => [
    {
      name,
      model,
      tools: [],
      delegates: [],
      runs: {},
      tokenUsage: shownUsage(totals.tokenUsage),
      begun: totals.begun,
      hours: [...totals.hours],
      ...(tokens !== undefined && { tokenBudget: tokens }),
      ...(cost !== undefined && { costBudget: cost }),
    },
  ];
  const shown = { totals, source };
  if (shownModels.size < maxShown) shownModels.set(key, shown);
  return shown;
}
