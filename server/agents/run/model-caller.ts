import { quote } from '../../errors.js';
import { limitsOf } from '../../hub/events/attempt-ctx.js';
import { nextDelayMs, type ResolvedRetry } from '../../hub/events/retry-policy.js';
import { isRate, type Limit } from '../../hub/limits/limit.js';
import { type AbortableWaits, abortable, delay } from '../abortable.js';
import { type AgentContext, handlerContextOf } from '../agent/agent-context.js';
import type { TurnPlan } from '../agent/hooks.js';
import { type AgentSpec, countTokens } from '../agent-spec.js';
import { InvalidAnswerError, UnknownPriceError } from '../errors.js';
import { observeChat } from '../gen-ai-operations.js';
import { newestThatFit, splitTurns } from '../memory/exchanges.js';
import {
  estimateMessageTokens,
  estimateTokens,
  estimateUsage,
  type Message,
  type ToolDefinition,
} from '../model/message.js';
import { type ModelAnswer, type OnDelta, type PaidAnswer, textsOf } from '../model/model-answer.js';
import type { ModelOptions } from '../model/model-provider.js';
import { dataCharsOf, describeParts, isMedia, type Part, textOf } from '../model/part.js';
import { affordableTokens, costOf } from '../model/price.js';
import { CutStreamError, ModelTimeoutError, OversizedResponseError, ProviderError } from '../model/provider-error.js';
import type { BudgetName, ReachedSpendLimit, TokenLedger } from '../model/token-ledger.js';
import { reportedUsage, type TokenUsage } from '../model/token-usage.js';
import { isReplaceable } from '../providers/fallback-provider.js';
import { cutContent } from '../tools/tool-executor.js';
import type { CallReservations, ReservedCall } from './call-reservations.js';
import {
  CandidateCaller,
  isForcing,
  type ModelCandidate,
  plannedCandidate,
  type Streamed,
} from './candidate-caller.js';
import type { RunRequest } from './run-request.js';

/** Settings that were reported as ignored, once per agent. */
const reportedSettings = new WeakMap<AgentSpec, Set<string>>();

/** Makes an attempt at a model call with a permit of the agent's limit. */
export type LimitedCalls = <T>(attempt: number, call: () => PromiseLike<T>) => PromiseLike<T>;

/**
 * Returns what takes the permits of a run's model calls; `undefined` without a limit. A step of a durable run waits for its
 * permit itself, so that only later attempts at the same call need one.
 */
export function limitedCalls(
  limit: Limit | undefined,
  { hubCtx, place }: RunRequest,
  waits: AbortableWaits,
): LimitedCalls | undefined {
  if (limit === undefined) return undefined;
  const limits = limitsOf(hubCtx && handlerContextOf(hubCtx));
  const isInStep = (attempt: number): boolean => place !== undefined && (attempt === 1 || !isRate(limit));
  return (attempt, call) => (isInStep(attempt) ? call() : limits.run(limit, waits, call));
}

/** Makes the model calls of one run: enforces the budget, retries, and counts tokens. */
export class ModelCaller {
  readonly #agent: AgentSpec;
  readonly #ctx: Pick<AgentContext, 'runId' | 'logger'>;
  readonly #ledger: TokenLedger;
  readonly #budget: CallBudget;
  readonly #waits: AbortableWaits;
  readonly #signal: AbortSignal | undefined;
  /** Receives streamed text. Absent if the run is not streamed. */
  readonly #onDelta: OnDelta | undefined;
  /** Receives the tokens of failed calls. Absent if the run is not durable. */
  readonly #onFailure: ((usage: TokenUsage) => void) | undefined;
  /** Absent if the agent has no limit. */
  readonly #limited: LimitedCalls | undefined;
  /** Index of the provider that the run uses: the first, until it fails. */
  #candidateIndex = 0;
  #caller: CandidateCaller;
  /** Last reported prompt: more precise than an estimate for the messages that it covers. */
  #measured = { messages: 0, tokens: 0 };
  /** Resolves when the tokens of the last call are recorded, if the record of its answer does not contain them. */
  #recorded: Promise<void> | undefined;
  /** `false` once a tool was called: a model that must always call one never answers. */
  #isForced: boolean;
  /** Changes for the current turn. */
  #plan: TurnPlan | undefined;
  /** Spending limit that left no room for the last call. */
  #spendLimit: ReachedSpendLimit | undefined;
  /** Absent if there are no spending limits. */
  readonly #reservations: CallReservations | undefined;

  constructor(
    agent: AgentSpec,
    ctx: Pick<AgentContext, 'runId' | 'logger'>,
    ledger: TokenLedger,
    waits: AbortableWaits,
    onDelta: OnDelta | undefined,
    onFailure?: (usage: TokenUsage) => void,
    limited?: LimitedCalls,
    reservations?: CallReservations,
  ) {
    this.#agent = agent;
    this.#ctx = ctx;
    this.#ledger = ledger;
    this.#budget = new CallBudget(ledger);
    this.#waits = waits;
    this.#signal = waits.signal;
    this.#onDelta = onDelta;
    this.#onFailure = onFailure;
    this.#limited = limited;
    this.#reservations = reservations;
    this.#isForced = agent.candidates.some((candidate) => isForcing(candidate.model));
    this.#caller = new CandidateCaller(agent.candidates[0], agent.clock, waits, onDelta);
  }

  /**
   * Resolves with the answer, or with `undefined` if the call does not fit into the budget.
   *
   * Rejects with the error of the last attempt, or with the signal's reason.
   *
   * @param inputIndex index of the run's input in the messages
   * @param plan changes for the turn
   */
  async call(
    transcript: Message[],
    inputIndex: number,
    tools: ToolDefinition[],
    plan?: TurnPlan,
  ): Promise<PaidAnswer | undefined> {
    if (plan !== this.#plan) this.#follow(plan);
    const messages = this.#fit(transcript, inputIndex, tools);
    this.#isForced &&= !transcript.some(({ toolCalls }, index) => index > inputIndex && toolCalls !== undefined);
    // One function for all attempts: each further layer of promises costs as much as the budget's check.
    for (let attempt = 1; ; attempt++) {
      const turn = this.#ledger.takeTurn();
      const endTurn = turn && (await this.#awaitTurn(turn));
      const streamed: Streamed = { texts: [], isShown: false };
      let failure: unknown;
      try {
        const options = this.#optionsWithin(messages, tools);
        if (options === undefined) return undefined;
        const reserved = this.#reservations && (await this.#reserve(this.#reservations, messages, tools, options));
        if (reserved !== undefined && 'unit' in reserved) {
          this.refuse('spendLimits', reserved);
          return undefined;
        }
        let spent: TokenUsage | undefined;
        let answer: ModelAnswer | undefined;
        try {
          answer = await (this.#limited === undefined
            ? this.#attempt(attempt, messages, options, streamed)
            : this.#attemptWithin(this.#limited, attempt, messages, options, streamed));
        } catch (error) {
          failure = error;
          // A retry may wait for long, and starts the timer again.
          this.#caller.close();
          const usage = this.#usageOfFailure(error, messages, tools, streamed);
          if (usage !== undefined) {
            spent = this.#budget.priced(usage, this.#caller.model);
            this.#payFailure(spent, messages);
          }
        }
        const paid = answer && this.#pay(answer, messages, tools);
        if (reserved !== undefined) await reserved.settle(paid?.usage ?? spent);
        if (paid !== undefined) {
          // What follows may take its process with it.
          if (this.#recorded !== undefined) await this.#waits.wait(this.#recorded);
          return paid;
        }
      } finally {
        endTurn?.();
      }
      // Streamed text cannot be withdrawn, and a retry would stream it again.
      if (streamed.isShown) throw failure;
      const { retry, clock, maxRetryAfterMs } = this.#agent;
      const delayMs = await retryDelayMs(retry, attempt, failure, maxRetryAfterMs.inProcess);
      if (this.#signal?.aborted) throw failure;
      if (delayMs !== undefined) await delay(clock, delayMs, this.#signal);
      else if (this.#replaceProvider(failure)) attempt = 0;
      else throw failure;
    }
  }

  /** Spending limit that left no room for the last call; `undefined` if there was room. */
  get spendLimit(): ReachedSpendLimit | undefined {
    return this.#spendLimit;
  }

  /** Notes what does not cover the next call. */
  refuse(budget: BudgetName, spendLimit?: ReachedSpendLimit): void {
    this.#spendLimit = spendLimit;
    this.#ledger.refuse(budget);
  }

  // A function of its own: the scope of `call` would keep the messages alive.
  #reserve(
    reservations: CallReservations,
    messages: Message[],
    tools: ToolDefinition[],
    { maxTokens }: ModelOptions,
  ): Promise<ReservedCall | ReachedSpendLimit> {
    return reservations.reserve(this.#caller.model, this.#estimatePrompt(messages, tools), maxTokens);
  }

  /** Name of the model that the run uses. */
  get name(): string {
    return this.#caller.model.model;
  }

  /** Maximum number of tokens per answer of that model. */
  get maxTokens(): number | undefined {
    return this.#caller.model.maxTokens;
  }

  /** Releases what the calls hold. The run has ended, or has left the process. */
  close(): void {
    this.#caller.close();
  }

  /** Continues the run with the next provider. Returns `false` if there is none, or the failure would be the same. */
  #replaceProvider(error: unknown): boolean {
    const { name, candidates } = this.#agent;
    const isOfTurn = this.#plan?.provider !== undefined;
    const next = candidates[this.#candidateIndex + (isOfTurn ? 0 : 1)];
    if (next === undefined || !isReplaceable(error)) return false;
    const { model } = this.#caller.model;
    this.#ctx.logger.warn(
      { err: error, model, nextModel: next.model.model },
      `agent ${quote(name)} changes its provider`,
    );
    if (isOfTurn) {
      const { provider: _failed, model: _ofProvider, ...plan } = this.#plan ?? {};
      this.#plan = plan;
      this.#callWith(next);
    } else this.#use(this.#candidateIndex + 1);
    return true;
  }

  /** Index of the provider that the run uses. */
  get provider(): number {
    return this.#candidateIndex;
  }

  #follow(plan: TurnPlan | undefined): void {
    const isSamePrompt =
      plan?.instructions === this.#plan?.instructions && String(plan?.tools) === String(this.#plan?.tools);
    // The report of the last call covers another prompt.
    if (!isSamePrompt) this.#measured = { messages: 0, tokens: 0 };
    this.#plan = plan;
    const candidate = this.#agent.candidates[this.#candidateIndex];
    if (candidate !== undefined) this.#callWith(candidate);
  }

  #callWith(candidate: ModelCandidate): void {
    const planned = this.#plan && plannedCandidate(candidate, this.#plan, this.#candidateIndex === 0);
    this.#caller.close();
    this.#caller = new CandidateCaller(planned ?? candidate, this.#agent.clock, this.#waits, this.#onDelta);
  }

  /** Calls another provider from now on. Code that has fewer of them continues with the last one. */
  #use(index: number): void {
    const { candidates } = this.#agent;
    const last = Math.min(index, candidates.length - 1);
    const candidate = candidates[last];
    if (candidate === undefined || last === this.#candidateIndex) return;
    this.#candidateIndex = last;
    this.#callWith(candidate);
  }

  /** Takes a recorded answer into account: its report, and the provider that gave it. */
  replay({ usage }: PaidAnswer, messages: readonly Message[], provider: number): void {
    this.#use(provider);
    this.#measured = { messages: messages.length, tokens: usage.promptTokens };
  }

  #fit(messages: Message[], inputIndex: number, tools: ToolDefinition[]): Message[] {
    const { contextTokens } = this.#agent;
    let fitting = fitMedia(messages, inputIndex);
    if (contextTokens !== undefined) {
      const toolTokens = tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools));
      fitting = fitContext(fitting, inputIndex, contextTokens - toolTokens);
    }
    // The report of the last call does not cover the same messages.
    if (fitting !== messages) this.#measured = { messages: 0, tokens: 0 };
    return fitting;
  }

  #attempt(attempt: number, messages: Message[], options: ModelOptions, streamed: Streamed): PromiseLike<ModelAnswer> {
    const { candidate } = this.#caller;
    return observeChat(candidate, this.#ctx.runId, attempt, options, () =>
      this.#caller.call(messages, options, streamed),
    );
  }

  // A function of its own: the scope of `call` would keep the messages alive.
  #attemptWithin(
    limited: LimitedCalls,
    attempt: number,
    messages: Message[],
    options: ModelOptions,
    streamed: Streamed,
  ): PromiseLike<ModelAnswer> {
    return limited(attempt, () => this.#attempt(attempt, messages, options, streamed));
  }

  /** Returns the answer with its cost, and counts it. */
  #pay(answer: ModelAnswer, messages: Message[], tools: ToolDefinition[]): PaidAnswer {
    if (answer.ignoredSettings !== undefined) this.#reportIgnored(answer.ignoredSettings);
    const known = answer.usage ?? estimateUsage(this.#estimatePrompt(messages, tools), textsOf(answer));
    const usage = this.#budget.priced(known, this.#caller.model);
    this.#charge(usage, messages);
    return isPaid(answer, usage) ? answer : { ...answer, usage };
  }

  #payFailure(usage: TokenUsage, messages: Message[]): void {
    this.#charge(usage, messages);
    this.#onFailure?.(usage);
  }

  /** Returns the reported or estimated usage of a failed call, or `undefined` if it cost nothing. */
  #usageOfFailure(
    error: unknown,
    messages: Message[],
    tools: ToolDefinition[],
    streamed: Streamed,
  ): TokenUsage | undefined {
    const reported = error instanceof ProviderError ? reportedUsage(error.usage) : undefined;
    if (reported !== undefined) return reported;
    const hasAnswered =
      error instanceof CutStreamError ||
      error instanceof ModelTimeoutError ||
      error instanceof OversizedResponseError ||
      error instanceof InvalidAnswerError ||
      streamed.texts.length > 0;
    // An aborted call was sent, and its answer is not awaited.
    return hasAnswered || this.#signal?.aborted
      ? estimateUsage(this.#estimatePrompt(messages, tools), streamed.texts)
      : undefined;
  }

  async #awaitTurn(turn: Promise<() => void>): Promise<() => void> {
    try {
      return await abortable(turn, this.#signal);
    } catch (error) {
      // The turn still arrives, and must be ended for the calls behind it.
      void turn.then((endTurn) => endTurn());
      throw error;
    }
  }

  /** Returns the options of a call, or `undefined` if it does not fit into the budget. @throws {UnknownPriceError} */
  #optionsWithin(messages: Message[], tools: ToolDefinition[]): ModelOptions | undefined {
    const options = this.#caller.options(tools, this.#isForced);
    // No function that estimates: its scope would keep the messages of each call alive.
    if (!this.#ledger.isLimited) return options;
    const prompt = this.#estimatePrompt(messages, tools);
    const left = this.#budget.answerTokens(this.#caller.model, prompt);
    return left === undefined ? undefined : this.#caller.limited(options, left);
  }

  #estimatePrompt(messages: Message[], tools: ToolDefinition[]): number {
    const { messages: known, tokens } = this.#measured;
    if (tokens > 0) return tokens + estimateMessageTokens(messages, known);
    return estimateMessageTokens(messages) + (tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools)));
  }

  #reportIgnored(settings: readonly string[]): void {
    const reported = reportedSettings.get(this.#agent) ?? new Set();
    reportedSettings.set(this.#agent, reported);
    const { name, model } = this.#agent;
    for (const setting of settings) {
      if (reported.has(setting)) continue;
      reported.add(setting);
      this.#ctx.logger.warn(
        { model: model.model },
        `the model of agent ${quote(name)} does not support a setting: ${setting}`,
      );
    }
  }

  #charge(usage: TokenUsage, messages: Message[]): void {
    this.#measured = { messages: messages.length, tokens: usage.promptTokens };
    countTokens(this.#agent.totals, usage, this.#agent.clock.now());
    this.#recorded = this.#ledger.charge(usage);
  }
}

/** Returns `true` if the answer reported this usage. */
function isPaid(answer: ModelAnswer, usage: TokenUsage): answer is PaidAnswer {
  return answer.usage === usage;
}

/** Returns the delay before the next attempt at a model call; `undefined` if there is none. */
export async function retryDelayMs(
  retry: ResolvedRetry | undefined,
  attempt: number,
  error: unknown,
  maxRetryAfterMs: number,
): Promise<number | undefined> {
  if (!(error instanceof ProviderError)) return nextDelayMs(retry, attempt, error);
  const delayMs = error.retryable ? await nextDelayMs(retry, attempt, error) : undefined;
  return delayMs === undefined ? undefined : Math.min(error.retryAfterMs ?? delayMs, maxRetryAfterMs);
}

/** Tokens and money that the budgets of a run leave for its next model call. */
export class CallBudget {
  readonly #ledger: TokenLedger;
  /** Maximum number of tokens of the current call's answer. */
  #ceiling = Number.POSITIVE_INFINITY;

  constructor(ledger: TokenLedger) {
    this.#ledger = ledger;
  }

  /**
   * Returns the tokens that the budgets leave for an answer, or `undefined` if they do not cover its prompt.
   *
   * @param prompt tokens of the prompt
   * @throws {UnknownPriceError} if a cost is limited, and the model has no price
   */
  answerTokens({ model, maxTokens }: ModelOptions, prompt: number): number | undefined {
    const tokens = this.#tokensFor(model, prompt);
    this.#ceiling = Math.min(tokens ?? 0, maxTokens ?? Number.POSITIVE_INFINITY);
    return tokens;
  }

  #tokensFor(model: string, prompt: number): number | undefined {
    const { left, costLeft } = this.#ledger;
    if (left <= prompt) return this.#refused('tokenBudget');
    if (costLeft === Number.POSITIVE_INFINITY) return left;
    const price = this.#ledger.priceOf(model);
    if (price === undefined) throw new UnknownPriceError(model);
    const affordable = affordableTokens(prompt, costLeft, price);
    return affordable === undefined ? this.#refused('costBudget') : Math.min(left, affordable);
  }

  #refused(budget: BudgetName): undefined {
    this.#ledger.refuse(budget);
  }

  /** Adds the cost to the usage of the current call. If usage is not reported and money is limited, at most. */
  priced(usage: TokenUsage, { model }: ModelOptions): TokenUsage {
    const price = this.#ledger.priceOf(model);
    if (price === undefined) return usage;
    const isGuess = usage.estimated && this.#ledger.costLeft !== Number.POSITIVE_INFINITY;
    const completionTokens = Math.max(usage.completionTokens, isGuess && price.output > 0 ? this.#ceiling : 0);
    return { ...usage, cost: costOf({ ...usage, completionTokens }, price) };
  }
}

/** Maximum number of characters of base64 per model call: the strictest vendor takes 32 MB, and texts need a part. */
const maxMediaChars = 29_360_128;

/**
 * Returns the messages of a run with as many media as one request takes. A line that names it replaces each medium
 * beyond, oldest first. The media of the input remain.
 *
 * @param inputIndex index of the run's input in the messages
 */
function fitMedia(messages: Message[], inputIndex: number): Message[] {
  let excess = -maxMediaChars;
  for (const { parts } of messages) if (parts !== undefined) for (const part of parts) excess += dataCharsOf(part);
  if (excess <= 0) return messages;
  const nameBeyond = (part: Part): Part => {
    const chars = dataCharsOf(part);
    if (excess <= 0 || chars === 0) return part;
    excess -= chars;
    return { type: 'text', text: describeParts([part]) };
  };
  return messages.map((message, index) => {
    const { parts, ...rest } = message;
    if (parts === undefined || excess <= 0 || index === inputIndex) return message;
    const left = parts.map(nameBeyond);
    // The content of a result has the lines already.
    const named = message.role === 'tool' ? rest : { ...rest, content: textOf(left) };
    return left.some(isMedia) ? { ...named, parts: left } : named;
  });
}

const charsPerToken = 4;

/**
 * Returns the messages of a run that fit into `maxTokens`. The system prompt, a summary, the input and the newest turn remain;
 * earlier exchanges are dropped first, oldest first, then the oldest turns of the run. If the newest turn is too long
 * by itself, its results are cut. Tokens are estimated.
 *
 * @param inputIndex index of the run's input in the messages
 */
export function fitContext(messages: Message[], inputIndex: number, maxTokens: number): Message[] {
  if (estimateMessageTokens(messages) <= maxTokens) return messages;
  let first = messages[0]?.role === 'system' ? 1 : 0;
  // The summary stands for everything that is dropped.
  if (messages[first]?.isSummary && first < inputIndex) first++;
  const fixed = [...messages.slice(0, first), ...messages.slice(inputIndex, inputIndex + 1)];
  const turns = splitTurns(messages.slice(inputIndex + 1));
  const newest = turns.pop() ?? [];
  let left = maxTokens - estimateMessageTokens(fixed);
  const own = cutResults(newest, left);
  left -= estimateMessageTokens(own);
  const keptTurns = newestThatFit(turns, { maxMessages: Number.POSITIVE_INFINITY, maxTokens: left });
  left -= estimateMessageTokens(keptTurns.flat());
  const earlier = splitExchanges(messages.slice(first, inputIndex));
  const keptEarlier =
    keptTurns.length < turns.length
      ? []
      : newestThatFit(earlier, { maxMessages: Number.POSITIVE_INFINITY, maxTokens: left });
  return [
    ...messages.slice(0, first),
    ...keptEarlier.flat(),
    ...messages.slice(inputIndex, inputIndex + 1),
    ...keptTurns.flat(),
    ...own,
  ];
}

/** Cuts the results of a turn to equal shares of the tokens that its other messages leave. */
function cutResults(turn: Message[], maxTokens: number): Message[] {
  if (estimateMessageTokens(turn) <= maxTokens) return turn;
  const results = turn.filter(({ role }) => role === 'tool');
  if (results.length === 0) return turn;
  const others = estimateMessageTokens(
    turn.map((message) => (message.role === 'tool' ? withContent(message, '') : message)),
  );
  const share = Math.max(0, Math.floor(((maxTokens - others) * charsPerToken) / results.length) - noteChars);
  return turn.map((message) =>
    message.role === 'tool' ? withContent(message, cutContent(message.content, share)) : message,
  );
}

/** Returns a result without its media, which its content names. */
function withContent({ parts: _media, ...message }: Message, content: string): Message {
  return { ...message, content };
}

/** Room for the note of `cutContent`. */
const noteChars = 100;

function splitExchanges(messages: readonly Message[]): Message[][] {
  const exchanges: Message[][] = [];
  for (const message of messages) {
    const last = exchanges.at(-1);
    if (last === undefined || message.role === 'user') exchanges.push([message]);
    else last.push(message);
  }
  return exchanges;
}
