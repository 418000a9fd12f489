import { nextDelayMs, type ResolvedRetry } from '../hub/events/retry-policy.js';
import { abortable, delay } from './abortable.js';
import type { AgentSpec } from './agent-config.js';
import { InvalidAnswerError } from './errors.js';
import { observeChat } from './gen-ai-operations.js';
import type { Message } from './message.js';
import { collectAnswer, type ModelAnswer, readAnswer, textsOf } from './model-answer.js';
import type { ModelOptions } from './model-provider.js';
import { CutStreamError, ProviderError } from './providers/provider-error.js';
import type { TokenLedger } from './token-ledger.js';
import { addUsage, estimateMessageTokens, estimateTokens, estimateUsage, type TokenUsage } from './token-usage.js';
import type { ToolDefinition } from './tool.js';

/** A call that the provider did not answer. */
interface FailedAttempt {
  readonly error: unknown;
}

/** An answer and what it cost, for certain. */
export type PaidAnswer = ModelAnswer & { readonly usage: TokenUsage };

/** Makes the model calls of one run: keeps the budget, retries, counts. */
export class ModelCaller {
  readonly #agent: AgentSpec;
  readonly #runId: string;
  readonly #ledger: TokenLedger;
  readonly #signal: AbortSignal | undefined;
  /** Where text goes as it comes; absent where nobody waits for it. */
  readonly #onText: ((text: string) => void) | undefined;
  /** The last report: it says what the messages up to then cost, better than an estimate. */
  #measured = { messages: 0, tokens: 0 };
  /** The same for every call that offers the same tools, but for what a budget changes. */
  #last: { readonly tools: ToolDefinition[]; readonly options: ModelOptions } | undefined;

  constructor(
    agent: AgentSpec,
    runId: string,
    ledger: TokenLedger,
    signal: AbortSignal | undefined,
    onText: ((text: string) => void) | undefined,
  ) {
    this.#agent = agent;
    this.#runId = runId;
    this.#ledger = ledger;
    this.#signal = signal;
    this.#onText = onText;
  }

  /**
   * Resolves with the answer, or with `undefined` where the budget has no room for the call.
   *
   * Rejects with the error of the last attempt, or with the signal's reason.
   */
  async call(messages: Message[], tools: ToolDefinition[]): Promise<PaidAnswer | undefined> {
    const { retry, clock } = this.#agent;
    for (let attempt = 1; ; attempt++) {
      const shown: string[] = [];
      const outcome = await this.#attempt(attempt, messages, tools, shown);
      if (outcome === undefined || !('error' in outcome)) return outcome;
      // Text that was shown cannot be taken back, and a second attempt would show it twice.
      const delayMs = shown.length > 0 ? undefined : retryDelayMs(retry, attempt, outcome.error);
      if (delayMs === undefined || this.#signal?.aborted) throw outcome.error;
      await delay(clock, delayMs, this.#signal);
    }
  }

  /** Rejects for what no second attempt would mend: an abort, or a listener that throws. */
  async #attempt(
    attempt: number,
    messages: Message[],
    tools: ToolDefinition[],
    shown: string[],
  ): Promise<PaidAnswer | FailedAttempt | undefined> {
    const turn = this.#ledger.takeTurn();
    const endTurn = turn && (await this.#awaitTurn(turn));
    try {
      const options = this.#optionsWithin(this.#ledger.left, messages, tools);
      if (options === undefined) return undefined;
      let answer: ModelAnswer;
      try {
        answer = await observeChat(this.#agent, this.#runId, attempt, options, () =>
          abortable(this.#askWithin(messages, options, shown), this.#signal),
        );
      } catch (error) {
        const cost = this.#costOf(error, messages, tools, shown);
        if (cost !== undefined) this.#charge(cost, messages);
        return { error };
      }
      const usage = answer.usage ?? estimateUsage(this.#estimatePrompt(messages, tools), textsOf(answer));
      this.#charge(usage, messages);
      return { ...answer, usage };
    } finally {
      endTurn?.();
    }
  }

  /** What a failed call is known, or bound, to have cost. */
  #costOf(error: unknown, messages: Message[], tools: ToolDefinition[], shown: string[]): TokenUsage | undefined {
    if (error instanceof ProviderError && error.usage !== undefined) return error.usage;
    const hasAnswered = error instanceof CutStreamError || error instanceof InvalidAnswerError || shown.length > 0;
    // An aborted call was sent, and what becomes of it is not waited for.
    return hasAnswered || this.#signal?.aborted
      ? estimateUsage(this.#estimatePrompt(messages, tools), shown)
      : undefined;
  }

  async #awaitTurn(turn: Promise<() => void>): Promise<() => void> {
    try {
      return await abortable(turn, this.#signal);
    } catch (error) {
      // Its turn comes all the same, and must not hold up those behind.
      void turn.then((endTurn) => endTurn());
      throw error;
    }
  }

  /** Asks, and once more where the vendor rejects the `maxTokens` that the budget allows. */
  #askWithin(messages: Message[], options: ModelOptions, shown: string[]): Promise<ModelAnswer> {
    const { model, answerLimit } = this.#agent;
    const { maxTokens } = options;
    const asked = this.#ask(messages, options, shown);
    if (maxTokens === undefined || model.maxTokens !== undefined) return asked;
    return asked.catch(async (error: unknown) => {
      if (!isRejection(error)) throw error;
      const { maxTokens: _rejected, ...others } = options;
      const answer = await this.#ask(messages, others, shown);
      // Known only now: a vendor may reject a request for many reasons.
      answerLimit.rejected(maxTokens);
      return answer;
    });
  }

  async #ask(messages: Message[], options: ModelOptions, shown: string[]): Promise<ModelAnswer> {
    const { provider } = this.#agent;
    const onText = this.#onText;
    if (onText === undefined) return readAnswer(await provider.chat(messages, options));
    if (provider.chatStream !== undefined) {
      return collectAnswer(provider.chatStream(messages, options), (text) => {
        // Ends a stream that does not heed the signal: who reads it is gone.
        this.#signal?.throwIfAborted();
        shown.push(text);
        onText(text);
      });
    }
    const answer = readAnswer(await provider.chat(messages, options));
    if (answer.content !== '') onText(answer.content);
    return answer;
  }

  #optionsWithin(left: number, messages: Message[], tools: ToolDefinition[]): ModelOptions | undefined {
    const { model, answerLimit } = this.#agent;
    if (this.#last?.tools !== tools) {
      const signal = this.#signal;
      this.#last = { tools, options: { ...model, ...(tools.length > 0 && { tools }), ...(signal && { signal }) } };
    }
    const { options } = this.#last;
    if (left === Number.POSITIVE_INFINITY) return options;
    if (left <= this.#estimatePrompt(messages, tools)) return undefined;
    const maxTokens = model.maxTokens === undefined ? answerLimit.within(left) : Math.min(model.maxTokens, left);
    return maxTokens === undefined ? options : { ...options, maxTokens };
  }

  #estimatePrompt(messages: Message[], tools: ToolDefinition[]): number {
    const { messages: known, tokens } = this.#measured;
    if (tokens > 0) return tokens + estimateMessageTokens(messages, known);
    return estimateMessageTokens(messages) + (tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools)));
  }

  #charge(usage: TokenUsage, messages: Message[]): void {
    this.#measured = { messages: messages.length, tokens: usage.promptTokens };
    addUsage(this.#agent.totals.tokenUsage, usage);
    this.#ledger.charge(usage);
  }
}

function isRejection(error: unknown): boolean {
  return error instanceof ProviderError && (error.statusCode === 400 || error.statusCode === 422);
}

function retryDelayMs(retry: ResolvedRetry | undefined, attempt: number, error: unknown): number | undefined {
  if (!(error instanceof ProviderError)) return nextDelayMs(retry, attempt, error);
  const delayMs = error.retryable ? nextDelayMs(retry, attempt, error) : undefined;
  return delayMs === undefined ? undefined : (error.retryAfterMs ?? delayMs);
}
