import type { Clock } from '../../../transports/clock.js';
import type { AbortableWaits } from '../../abortable.js';
import type { Message, ToolDefinition } from '../../model/message.js';
import { collectAnswer, type ModelAnswer, readAnswer } from '../../model/model-answer.js';
import type { ModelCandidate } from '../../model/model-candidate.js';
import type { ModelOptions } from '../../model/model-provider.js';
import { ModelTimeoutError, ProviderError } from '../../model/provider-error.js';
import { CallDeadline } from './call-deadline.js';

const defaultTimeoutMs = 600_000;

/** Calls the provider of one candidate with the options of a run, each call within its time limit. */
export class CandidateCaller {
  readonly candidate: ModelCandidate;
  readonly #deadline: CallDeadline;
  /** Receives streamed text. Absent if the run is not streamed. */
  readonly #onText: ((text: string) => void) | undefined;
  /** Options of the last call, reused while the tools are the same. A budget overrides `maxTokens` per call. */
  #last: { readonly tools: ToolDefinition[]; readonly isForced: boolean; readonly options: ModelOptions } | undefined;

  constructor(
    candidate: ModelCandidate,
    clock: Clock,
    waits: AbortableWaits,
    onText: ((text: string) => void) | undefined,
  ) {
    const { provider, model } = candidate;
    const { timeoutMs = defaultTimeoutMs } = model;
    const timeout = (): Error => new ModelTimeoutError(provider.name ?? 'the model provider', timeoutMs);
    this.candidate = candidate;
    this.#deadline = new CallDeadline(clock, timeoutMs, waits, timeout);
    this.#onText = onText;
  }

  /** Options of the agent for this candidate. */
  get model(): ModelOptions {
    return this.candidate.model;
  }

  /** Returns the options of a call. @param isForced the model may be forced to call a tool */
  options(tools: ToolDefinition[], isForced: boolean): ModelOptions {
    if (this.#last?.tools !== tools || this.#last.isForced !== isForced) {
      const { model } = this.candidate;
      const { timeoutMs: _enforcedHere, toolChoice, ...settings } = model;
      const choice = (isForced && isForcing(model)) || toolChoice === 'none' ? toolChoice : undefined;
      const options: ModelOptions = {
        ...settings,
        ...(tools.length > 0 && { tools, ...(choice !== undefined && { toolChoice: choice }) }),
      };
      this.#last = { tools, isForced, options: withSignalOf(this.#deadline, options) };
    }
    return this.#last.options;
  }

  /** Returns the options of a call whose answer may have `left` tokens. */
  limited(options: ModelOptions, left: number): ModelOptions {
    if (left === Number.POSITIVE_INFINITY) return options;
    const { model, maxTokensLimit } = this.candidate;
    const maxTokens = model.maxTokens === undefined ? maxTokensLimit.within(left) : Math.min(model.maxTokens, left);
    return maxTokens === undefined ? options : { ...options, maxTokens };
  }

  /**
   * Calls the provider, and once more if the vendor rejects the `maxTokens` of the budget.
   *
   * @param shown receives the texts that were streamed
   */
  call(messages: Message[], options: ModelOptions, shown: string[]): PromiseLike<ModelAnswer> {
    return this.#deadline.run(() => this.#callWithin(messages, options, shown));
  }

  /** Releases the timer of the calls. */
  close(): void {
    this.#deadline.close();
  }

  #callWithin(messages: Message[], options: ModelOptions, shown: string[]): Promise<ModelAnswer> {
    const { model, maxTokensLimit } = this.candidate;
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
    const { provider } = this.candidate;
    const onText = this.#onText;
    if (onText === undefined) return readAnswer(await provider.chat(messages, options));
    // That of this call: `options.signal` is soon that of the next one.
    const { signal } = options;
    if (provider.chatStream !== undefined) {
      return collectAnswer(provider.chatStream(messages, options), (text) => {
        // Ends a stream that ignores the signal.
        signal?.throwIfAborted();
        shown.push(text);
        onText(text);
      });
    }
    const answer = readAnswer(await provider.chat(messages, options));
    signal?.throwIfAborted();
    if (answer.content !== '') onText(answer.content);
    return answer;
  }
}

const deadlineKey: unique symbol = Symbol('hubline.deadline');

/** Adds the `signal` of the current call, which is created on first access. A copy of the options has it as a value. */
function withSignalOf(deadline: CallDeadline, options: ModelOptions): ModelOptions {
  Object.defineProperty(options, deadlineKey, { value: deadline });
  return Object.defineProperty(options, 'signal', signalProperty);
}

// One getter for all: V8 creates that of an object literal in its old generation, and with it the run outlives its end.
const signalProperty = {
  enumerable: true,
  configurable: true,
  get(this: { readonly [deadlineKey]: CallDeadline }): AbortSignal {
    return this[deadlineKey].signal;
  },
};

/** Returns `true` for options that force the model to call a tool. */
export function isForcing({ toolChoice }: ModelOptions): boolean {
  return toolChoice === 'required' || typeof toolChoice === 'object';
}

function isRejection(error: unknown): boolean {
  return error instanceof ProviderError && (error.statusCode === 400 || error.statusCode === 422);
}
