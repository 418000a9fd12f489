import { quote } from '../../errors.js';
import { nextDelayMs, type ResolvedRetry } from '../../hub/events/definition/retry-policy.js';
import type { Clock } from '../../transports/clock.js';
import { abortable, delay } from '../abortable.js';
import type { AgentContext } from '../agent/agent-context.js';
import { InvalidAnswerError } from '../errors.js';
import { estimateMessageTokens, estimateTokens, estimateUsage } from '../model/estimate-tokens.js';
import type { Message, ToolDefinition } from '../model/message.js';
import { collectAnswer, type ModelAnswer, readAnswer, textsOf } from '../model/model-answer.js';
import type { ModelOptions } from '../model/model-provider.js';
import { CutStreamError, ModelTimeoutError, ProviderError } from '../model/provider-error.js';
import type { TokenLedger } from '../model/token-ledger.js';
import { addUsage, type TokenUsage } from '../model/token-usage.js';
import { observeChat } from '../observability/gen-ai-operations.js';
import { isReplaceable } from '../providers/fallback-provider.js';
import type { AgentSpec } from './agent-spec.js';
import { CallBudget } from './call-budget.js';
import { CallDeadline } from './call-deadline.js';
import { fitContext } from './fit-context.js';
import type { ModelCandidate } from '../model/model-candidate.js';

const defaultTimeoutMs = 600_000;

/** Settings that were reported as ignored, once per agent. */
const reportedSettings = new WeakMap<AgentSpec, Set<string>>();

/** Attempt that ended with an error. */
interface FailedAttempt {
  readonly error: unknown;
}

/** Answer with its usage, reported or estimated. */
export type PaidAnswer = ModelAnswer & { readonly usage: TokenUsage };

/** Makes the model calls of one run: enforces the budget, retries, and counts tokens. */
export class ModelCaller {
  readonly #agent: AgentSpec;
  readonly #ctx: Pick<AgentContext, 'runId' | 'logger'>;
  readonly #ledger: TokenLedger;
  readonly #budget: CallBudget;
  readonly #signal: AbortSignal | undefined;
  #deadline: CallDeadline;
  /** Index of the provider that the run uses: the first, until it fails. */
  #candidateIndex = 0;
  #candidate: ModelCandidate;
  /** Receives streamed text. Absent if the run is not streamed. */
  readonly #onText: ((text: string) => void) | undefined;
  /** Last reported prompt: more precise than an estimate for the messages that it covers. */
  #measured = { messages: 0, tokens: 0 };
  /** Options of the last call, reused while the tools are the same. A budget overrides `maxTokens` per call. */
  #last: { readonly tools: ToolDefinition[]; readonly isForced: boolean; readonly options: ModelOptions } | undefined;
  /** `false` once a tool was called: a model that must always call one never answers. */
  #isForced: boolean;

  constructor(
    agent: AgentSpec,
    ctx: Pick<AgentContext, 'runId' | 'logger'>,
    ledger: TokenLedger,
    signal: AbortSignal | undefined,
    onText: ((text: string) => void) | undefined,
  ) {
    this.#agent = agent;
    this.#ctx = ctx;
    this.#ledger = ledger;
    this.#budget = new CallBudget(ledger);
    this.#signal = signal;
    this.#onText = onText;
    this.#candidate = agent.candidates[0];
    this.#isForced = agent.candidates.some((candidate) => isForcing(candidate.model));
    this.#deadline = deadlineOf(this.#candidate, agent.clock, signal);
  }

  /**
   * Resolves with the answer, or with `undefined` if the call does not fit into the budget.
   *
   * Rejects with the error of the last attempt, or with the signal's reason.
   *
   * @param inputIndex index of the run's input in the messages
   */
  async call(transcript: Message[], inputIndex: number, tools: ToolDefinition[]): Promise<PaidAnswer | undefined> {
    const { retry, clock, maxRetryAfterMs } = this.#agent;
    const messages = this.#fit(transcript, inputIndex, tools);
    this.#isForced &&= !transcript.some(({ toolCalls }, index) => index > inputIndex && toolCalls !== undefined);
    for (let attempt = 1; ; attempt++) {
      const shown: string[] = [];
      const outcome = await this.#attempt(attempt, messages, tools, shown);
      if (outcome === undefined || !('error' in outcome)) return outcome;
      // Streamed text cannot be withdrawn, and a retry would stream it again.
      if (shown.length > 0) throw outcome.error;
      const delayMs = await retryDelayMs(retry, attempt, outcome.error, maxRetryAfterMs.inProcess);
      if (this.#signal?.aborted) throw outcome.error;
      if (delayMs !== undefined) await delay(clock, delayMs, this.#signal);
      else if (this.#replaceProvider(outcome.error)) attempt = 0;
      else throw outcome.error;
    }
  }

  /** Name of the model that the run uses. */
  get name(): string {
    return this.#candidate.model.model;
  }

  /** Continues the run with the next provider. Returns `false` if there is none, or the failure would be the same. */
  #replaceProvider(error: unknown): boolean {
    const { name, candidates, clock } = this.#agent;
    const next = candidates[this.#candidateIndex + 1];
    if (next === undefined || !isReplaceable(error)) return false;
    const { model } = this.#candidate.model;
    this.#ctx.logger.warn(
      { err: error, model, nextModel: next.model.model },
      `agent ${quote(name)} changes its provider`,
    );
    this.#candidateIndex++;
    this.#candidate = next;
    this.#deadline = deadlineOf(next, clock, this.#signal);
    this.#last = undefined;
    return true;
  }

  /** Takes the report of a recorded answer into account. */
  replay({ usage }: PaidAnswer, messages: readonly Message[]): void {
    this.#measured = { messages: messages.length, tokens: usage.promptTokens };
  }

  #fit(messages: Message[], inputIndex: number, tools: ToolDefinition[]): Message[] {
    const { contextTokens } = this.#agent;
    if (contextTokens === undefined) return messages;
    const toolTokens = tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools));
    const fitting = fitContext(messages, inputIndex, contextTokens - toolTokens);
    // The report of the last call does not cover the same messages.
    if (fitting !== messages) this.#measured = { messages: 0, tokens: 0 };
    return fitting;
  }

  /** Rejects only with errors that a retry cannot resolve, such as an abort. */
  async #attempt(
    attempt: number,
    messages: Message[],
    tools: ToolDefinition[],
    shown: string[],
  ): Promise<PaidAnswer | FailedAttempt | undefined> {
    const turn = this.#ledger.takeTurn();
    const endTurn = turn && (await this.#awaitTurn(turn));
    try {
      const options = this.#optionsWithin(messages, tools);
      if (options === undefined) return undefined;
      let answer: ModelAnswer;
      try {
        answer = await observeChat(this.#candidate, this.#ctx.runId, attempt, options, () =>
          this.#deadline.run(() => this.#callWithin(messages, options, shown)),
        );
      } catch (error) {
        const usage = this.#usageOfFailure(error, messages, tools, shown);
        if (usage !== undefined) this.#charge(this.#budget.priced(usage, this.#candidate.model), messages);
        return { error };
      }
      if (answer.ignoredSettings !== undefined) this.#reportIgnored(answer.ignoredSettings);
      const known = answer.usage ?? estimateUsage(this.#estimatePrompt(messages, tools), textsOf(answer));
      const usage = this.#budget.priced(known, this.#candidate.model);
      this.#charge(usage, messages);
      return { ...answer, usage };
    } finally {
      endTurn?.();
    }
  }

  /** Returns the reported or estimated usage of a failed call, or `undefined` if it cost nothing. */
  #usageOfFailure(
    error: unknown,
    messages: Message[],
    tools: ToolDefinition[],
    shown: string[],
  ): TokenUsage | undefined {
    if (error instanceof ProviderError && error.usage !== undefined) return error.usage;
    const hasAnswered =
      error instanceof CutStreamError ||
      error instanceof ModelTimeoutError ||
      error instanceof InvalidAnswerError ||
      shown.length > 0;
    // An aborted call was sent, and its answer is not awaited.
    return hasAnswered || this.#signal?.aborted
      ? estimateUsage(this.#estimatePrompt(messages, tools), shown)
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

  /** Calls the provider, and once more if the vendor rejects the `maxTokens` of the budget. */
  #callWithin(messages: Message[], options: ModelOptions, shown: string[]): Promise<ModelAnswer> {
    const { model, maxTokensLimit } = this.#candidate;
    const { maxTokens } = options;
    const called = this.#callProvider(messages, options, shown);
    if (maxTokens === undefined || model.maxTokens !== undefined) return called;
    return called.catch(async (error: unknown) => {
      if (!isRejection(error)) throw error;
      const { maxTokens: _rejected, ...others } = options;
      const answer = await this.#callProvider(messages, others, shown);
      // Only a successful second call proves that `maxTokens` was the reason.
      maxTokensLimit.rejected(maxTokens);
      return answer;
    });
  }

  async #callProvider(messages: Message[], options: ModelOptions, shown: string[]): Promise<ModelAnswer> {
    const { provider } = this.#candidate;
    const onText = this.#onText;
    if (onText === undefined) return readAnswer(await provider.chat(messages, options));
    if (provider.chatStream !== undefined) {
      return collectAnswer(provider.chatStream(messages, options), (text) => {
        // Ends a stream that ignores the signal.
        options.signal?.throwIfAborted();
        shown.push(text);
        onText(text);
      });
    }
    const answer = readAnswer(await provider.chat(messages, options));
    if (answer.content !== '') onText(answer.content);
    return answer;
  }

  /** Returns the options of a call, or `undefined` if it does not fit into the budget. @throws {UnknownPriceError} */
  #optionsWithin(messages: Message[], tools: ToolDefinition[]): ModelOptions | undefined {
    const { model, maxTokensLimit } = this.#candidate;
    if (this.#last?.tools !== tools || this.#last.isForced !== this.#isForced) {
      const { timeoutMs: _enforcedHere, toolChoice, ...settings } = model;
      const choice = (this.#isForced && isForcing(model)) || toolChoice === 'none' ? toolChoice : undefined;
      const deadline = this.#deadline;
      const options: ModelOptions = {
        ...settings,
        ...(tools.length > 0 && { tools, ...(choice !== undefined && { toolChoice: choice }) }),
        get signal() {
          return deadline.signal;
        },
      };
      this.#last = { tools, isForced: this.#isForced, options };
    }
    const { options } = this.#last;
    // No function that estimates: its scope would keep the messages of each call alive.
    if (!this.#budget.isLimited) return options;
    const left = this.#budget.answerTokens(model, this.#estimatePrompt(messages, tools));
    if (left === undefined) return undefined;
    if (left === Number.POSITIVE_INFINITY) return options;
    const maxTokens = model.maxTokens === undefined ? maxTokensLimit.within(left) : Math.min(model.maxTokens, left);
    return maxTokens === undefined ? options : { ...options, maxTokens };
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
    addUsage(this.#agent.totals.tokenUsage, usage);
    this.#ledger.charge(usage);
  }
}

function isForcing({ toolChoice }: ModelOptions): boolean {
  return toolChoice === 'required' || typeof toolChoice === 'object';
}

function deadlineOf({ provider, model }: ModelCandidate, clock: Clock, signal: AbortSignal | undefined): CallDeadline {
  const { timeoutMs = defaultTimeoutMs } = model;
  const timeout = (): Error => new ModelTimeoutError(provider.name ?? 'the model provider', timeoutMs);
  return new CallDeadline(clock, timeoutMs, signal, timeout);
}

function isRejection(error: unknown): boolean {
  return error instanceof ProviderError && (error.statusCode === 400 || error.statusCode === 422);
}

async function retryDelayMs(
  retry: ResolvedRetry | undefined,
  attempt: number,
  error: unknown,
  maxRetryAfterMs: number,
): Promise<number | undefined> {
  if (!(error instanceof ProviderError)) return nextDelayMs(retry, attempt, error);
  const delayMs = error.retryable ? await nextDelayMs(retry, attempt, error) : undefined;
  return delayMs === undefined ? undefined : Math.min(error.retryAfterMs ?? delayMs, maxRetryAfterMs);
}
