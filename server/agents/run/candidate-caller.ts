import type { Clock, Timer } from '../../transports/clock.js';
import type { AbortableWaits } from '../abortable.js';
import type { Message, ToolDefinition } from '../model/message.js';
import { collectAnswer, type ModelAnswer, type OnText, readAnswer } from '../model/model-answer.js';
import type { ModelOptions, ModelProvider } from '../model/model-provider.js';
import { ModelTimeoutError, ProviderError } from '../model/provider-error.js';

const defaultTimeoutMs = 600_000;

/** Calls the provider of one candidate with the options of a run, each call within its time limit. */
export class CandidateCaller {
  readonly candidate: ModelCandidate;
  readonly #deadline: CallDeadline;
  /** Receives streamed text. Absent if the run is not streamed. */
  readonly #onText: OnText | undefined;
  /** Options of the last call, reused while the tools are the same. A budget overrides `maxTokens` per call. */
  #last: { readonly tools: ToolDefinition[]; readonly isForced: boolean; readonly options: ModelOptions } | undefined;

  constructor(candidate: ModelCandidate, clock: Clock, waits: AbortableWaits, onText: OnText | undefined) {
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
   * Calls the provider, and again if the vendor rejects the `maxTokens` of the budget: with the limit that its message
   * names, and then without one.
   *
   * @param shown receives the texts that were streamed
   */
  call(messages: Message[], options: ModelOptions, shown: string[]): PromiseLike<ModelAnswer> {
    const { maxTokens } = options;
    return this.#deadline.limit(
      maxTokens === undefined || this.candidate.model.maxTokens !== undefined
        ? this.#callProvider(messages, options, shown)
        : this.#callWithin(messages, options, maxTokens, shown),
    );
  }

  /** Releases the timer of the calls. */
  close(): void {
    this.#deadline.close();
  }

  async #callWithin(
    messages: Message[],
    options: ModelOptions,
    maxTokens: number,
    shown: string[],
  ): Promise<ModelAnswer> {
    try {
      return await this.#callProvider(messages, options, shown);
    } catch (error) {
      if (!isRejection(error)) throw error;
      const { maxTokens: _rejected, ...others } = options;
      const named = namedLimit(error, maxTokens);
      const limited = named === undefined ? undefined : await this.#callUnlessRejected(messages, others, named, shown);
      const answer = limited ?? (await this.#callProvider(messages, others, shown));
      // Only a successful further call proves that `maxTokens` was the reason.
      this.candidate.maxTokensLimit.rejected(maxTokens, limited && named);
      return answer;
    }
  }

  async #callUnlessRejected(
    messages: Message[],
    options: ModelOptions,
    maxTokens: number,
    shown: string[],
  ): Promise<ModelAnswer | undefined> {
    try {
      return await this.#callProvider(messages, { ...options, maxTokens }, shown);
    } catch (error) {
      if (isRejection(error)) return undefined;
      throw error;
    }
  }

  #callProvider(messages: Message[], options: ModelOptions, shown: string[]): Promise<ModelAnswer> {
    const onText = this.#onText;
    if (onText !== undefined) return this.#stream(messages, options, shown, onText);
    // A provider of untyped code may return its answer at once.
    return Promise.resolve(this.candidate.provider.chat(messages, options)).then(readAnswer);
  }

  async #stream(messages: Message[], options: ModelOptions, shown: string[], onText: OnText): Promise<ModelAnswer> {
    const { provider } = this.candidate;
    // That of this call: `options.signal` is soon that of the next one.
    const { signal } = options;
    if (provider.chatStream !== undefined) {
      return collectAnswer(provider.chatStream(messages, options), (text) => {
        // Ends a stream that ignores the signal.
        signal?.throwIfAborted();
        shown.push(text);
        return onText(text);
      });
    }
    const answer = readAnswer(await provider.chat(messages, options));
    signal?.throwIfAborted();
    if (answer.content !== '') void onText(answer.content);
    return answer;
  }
}

/** Adds the `signal` of the current call, which is created on first access. A copy of the options has it as a value. */
function withSignalOf(deadline: CallDeadline, options: ModelOptions): ModelOptions {
  deadlines.set(options, deadline);
  return Object.defineProperty(options, 'signal', signalProperty);
}

const deadlines = new WeakMap<object, CallDeadline>();

// One getter for all: V8 creates that of an object literal in its old generation, and with it the run outlives its end.
const signalProperty = {
  enumerable: true,
  configurable: true,
  get(this: object): AbortSignal | undefined {
    return deadlines.get(this)?.signal;
  },
};

/** Returns `true` for options that force the model to call a tool. */
export function isForcing({ toolChoice }: ModelOptions): boolean {
  return toolChoice === 'required' || typeof toolChoice === 'object';
}

function isRejection(error: unknown): error is ProviderError {
  return error instanceof ProviderError && (error.statusCode === 400 || error.statusCode === 422);
}

/** No vendor's model is limited to fewer tokens: smaller numbers in a message mean something else. */
const minNamedLimit = 1_024;

/** Returns the highest number below `maxTokens` in the vendor's message: it names the output limit of its model. */
function namedLimit({ vendorMessage = '' }: ProviderError, maxTokens: number): number | undefined {
  const numbers = (vendorMessage.match(/\d[\d,_]*/g) ?? []).map((text) => Number(text.replaceAll(/[,_]/g, '')));
  const limits = numbers.filter((number) => number >= minNamedLimit && number < maxTokens);
  return limits.length === 0 ? undefined : Math.max(...limits);
}

/**
 * Time limit of the model calls of one run, which are made one after another. All calls share one timer, because a
 * timer per call took longer than the loop's own work.
 */
class CallDeadline {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  /** Waits of the run. */
  readonly #waits: AbortableWaits;
  readonly #timeout: () => Error;
  #controller: AbortController | undefined;
  /** Aborts and rejects the current call. */
  #reject: ((error: unknown) => void) | undefined;
  /** Monotonic time at which the current call is too late. */
  #dueAt = 0;
  #timer: Timer | undefined;

  /** @param timeout returns the error of a call that takes longer than `timeoutMs` */
  constructor(clock: Clock, timeoutMs: number, waits: AbortableWaits, timeout: () => Error) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#waits = waits;
    this.#timeout = timeout;
  }

  /**
   * Signal of the current call. Created on first use, because an AbortController costs more than a turn. Not combined
   * with that of the run by `AbortSignal.any`, whose objects take five times as much memory and outlive the run.
   */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#waits.signal?.aborted) this.#controller.abort(this.#waits.signal.reason);
    }
    return this.#controller.signal;
  }

  /**
   * Settles as a call does. Rejects with the signal's reason as soon as the run's signal aborts, and with the error of
   * `timeout` when the time is up.
   */
  limit<T>(call: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#start(reject);
      call.then(
        (value) => {
          this.#end(reject);
          resolve(value);
        },
        (error: unknown) => {
          this.#end(reject);
          reject(error);
        },
      );
    });
  }

  /** Releases the timer. The last call has ended, or nobody waits for it. */
  close(): void {
    starting.delete(this);
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #start(reject: (error: unknown) => void): void {
    this.#reject = reject;
    this.#dueAt = this.#clock.monotonic() + this.#timeoutMs;
    if (this.#timer !== undefined) this.#timer.ref?.();
    else startTimerLater(this);
    this.#waits.add(this.#abort);
  }

  /** Starts the timer, unless the call has ended meanwhile. */
  startTimer(): void {
    if (this.#reject === undefined || this.#timer !== undefined) return;
    this.#timer = this.#clock.after(this.#dueAt - this.#clock.monotonic(), this.#onTimer);
  }

  /** Ends a call, unless it was too late: the next one may have started. */
  #end(reject: (error: unknown) => void): void {
    if (this.#reject === reject) this.#clear();
  }

  /** Aborts and rejects the current call. */
  readonly #abort = (error: unknown): void => {
    const reject = this.#reject;
    this.#controller?.abort(error);
    reject?.(error);
  };

  readonly #onTimer = (): void => {
    this.#timer = undefined;
    if (this.#reject === undefined) return;
    const left = this.#dueAt - this.#clock.monotonic();
    if (left > 0) {
      this.#timer = this.#clock.after(left, this.#onTimer);
      return;
    }
    this.#abort(this.#timeout());
    this.#clear();
  };

  #clear(): void {
    // Tools may run now: a process that has nothing else to wait for ends.
    this.#timer?.unref?.();
    this.#waits.delete(this.#abort);
    this.#reject = undefined;
    // The next call has its own signal. Not at its start: options with a budget copy the signal before.
    this.#controller = undefined;
  }
}

/** Deadlines of calls that have just started. A call that is answered in microtasks needs no timer. */
const starting = new Set<CallDeadline>();
let isScheduled = false;

function startTimerLater(deadline: CallDeadline): void {
  starting.add(deadline);
  if (isScheduled) return;
  isScheduled = true;
  process.nextTick(startTimers);
}

function startTimers(): void {
  isScheduled = false;
  const started = [...starting];
  starting.clear();
  for (const deadline of started) deadline.startTimer();
}

/** Provider and model of an agent: the first, or one that replaces those before it. */
export interface ModelCandidate {
  /** Name of the agent, for traces. */
  readonly name: string;
  readonly description: string | undefined;
  readonly provider: ModelProvider;
  readonly model: ModelOptions;
  readonly maxTokensLimit: MaxTokensLimit;
}

/**
 * Highest `maxTokens` that a vendor accepts, learned from rejected calls. Vendors reject a `maxTokens` above the
 * output limit of their model, and offer no way to ask for that limit, but most name it when they reject a call. A call
 * goes without `maxTokens` only if the budget leaves at least what was rejected: the model cannot write that much.
 */
export class MaxTokensLimit {
  #named: number | undefined;
  #rejected = Number.POSITIVE_INFINITY;

  /** Returns `maxTokens` for a call that may spend `left` tokens, or `undefined` if the call must not set it. */
  within(left: number): number | undefined {
    if (this.#named !== undefined) return Math.min(left, this.#named);
    return left < this.#rejected ? left : undefined;
  }

  /** Records that the vendor rejected this `maxTokens`. @param named limit that it accepted instead */
  rejected(maxTokens: number, named: number | undefined): void {
    this.#rejected = Math.min(this.#rejected, maxTokens);
    this.#named = named;
  }
}
