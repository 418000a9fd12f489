import type { Clock, Timer } from '../../transports/clock.js';
import type { AbortableWaits } from '../abortable.js';
import type { TurnPlan } from '../agent/hooks.js';
import type { Message, ToolDefinition } from '../model/message.js';
import { collectAnswer, deltasOf, type ModelAnswer, type OnDelta, readAnswer } from '../model/model-answer.js';
import { checkReadsParts, type ModelOptions, type ModelProvider, type ModelResponse } from '../model/model-provider.js';
import { ModelTimeoutError, ProviderError } from '../model/provider-error.js';

const defaultTimeoutMs = 600_000;

/** Answer as the provider returned it, or collected from its stream. */
type Answer = ModelResponse | ModelAnswer;

/** Texts of a call that were streamed before it ended. */
export interface Streamed {
  /** Every text, that of the reasoning included: what a failed call cost is estimated from it. */
  readonly texts: string[];
  /** A reader saw a part of the answer, so that another call cannot take its place. */
  isShown: boolean;
}

/** Calls the provider of one candidate with the options of a run, each call within its time limit. */
export class CandidateCaller {
  readonly candidate: ModelCandidate;
  readonly #deadline: CallDeadline;
  /** Receives streamed text. Absent if the run is not streamed. */
  readonly #onDelta: OnDelta | undefined;
  /** Options of the last call, reused while the tools are the same. A budget overrides `maxTokens` per call. */
  #last: { readonly tools: ToolDefinition[]; readonly isForced: boolean; readonly options: ModelOptions } | undefined;

  constructor(candidate: ModelCandidate, clock: Clock, waits: AbortableWaits, onDelta: OnDelta | undefined) {
    const { provider, model } = candidate;
    const { timeoutMs = defaultTimeoutMs } = model;
    const timeout = (): Error => new ModelTimeoutError(provider.name ?? 'the model provider', timeoutMs);
    this.candidate = candidate;
    this.#deadline = new CallDeadline(clock, timeoutMs, waits, timeout);
    this.#onDelta = onDelta;
  }

  /** Options of the agent for this candidate. */
  get model(): ModelOptions {
    return this.candidate.model;
  }

  /** Returns the options of a call. @param isForced the model may be forced to call a tool */
  options(tools: ToolDefinition[], isForced: boolean): ModelOptions {
    if (this.#last?.tools !== tools || this.#last.isForced !== isForced) {
      const { model, sent, turnChoice } = this.candidate;
      const { toolChoice } = model;
      const options = { ...sent };
      if (tools.length > 0) {
        options.tools = tools;
        if (turnChoice !== undefined) options.toolChoice = turnChoice;
        else if (toolChoice === 'none' || (toolChoice !== undefined && isForced && isForcing(model)))
          options.toolChoice = toolChoice;
      }
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
   * @param streamed receives the texts that were streamed
   */
  call(messages: Message[], options: ModelOptions, streamed: Streamed): PromiseLike<ModelAnswer> {
    const { maxTokens } = options;
    return this.#deadline.limit(
      maxTokens === undefined || this.candidate.model.maxTokens !== undefined
        ? this.#callProvider(messages, options, streamed)
        : this.#callWithin(messages, options, maxTokens, streamed),
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
    streamed: Streamed,
  ): Promise<Answer> {
    try {
      return await this.#callProvider(messages, options, streamed);
    } catch (error) {
      if (!isRejection(error)) throw error;
      const { maxTokens: _rejected, ...others } = options;
      const named = namedLimit(error, maxTokens);
      const limited =
        named === undefined ? undefined : await this.#callUnlessRejected(messages, others, named, streamed);
      const answer = limited ?? (await this.#callProvider(messages, others, streamed));
      // Only a successful further call proves that `maxTokens` was the reason.
      this.candidate.maxTokensLimit.rejected(maxTokens, limited && named);
      return answer;
    }
  }

  async #callUnlessRejected(
    messages: Message[],
    options: ModelOptions,
    maxTokens: number,
    streamed: Streamed,
  ): Promise<Answer | undefined> {
    try {
      return await this.#callProvider(messages, { ...options, maxTokens }, streamed);
    } catch (error) {
      if (isRejection(error)) return undefined;
      throw error;
    }
  }

  #callProvider(messages: Message[], options: ModelOptions, streamed: Streamed): Promise<Answer> {
    const { provider } = this.candidate;
    if (provider.readsParts !== true) {
      try {
        checkReadsParts(provider, messages);
      } catch (error) {
        return Promise.reject(error);
      }
    }
    const onDelta = this.#onDelta;
    if (onDelta !== undefined) return this.#stream(messages, options, streamed, onDelta);
    // A provider of untyped code may return its answer at once.
    return Promise.resolve(provider.chat(messages, options));
  }

  async #stream(
    messages: Message[],
    options: ModelOptions,
    streamed: Streamed,
    onDelta: OnDelta,
  ): Promise<ModelAnswer> {
    const { provider } = this.candidate;
    // That of this call: `options.signal` is soon that of the next one.
    const { signal } = options;
    if (provider.chatStream !== undefined) {
      return collectAnswer(provider.chatStream(messages, options), (delta) => {
        // Ends a stream that ignores the signal.
        signal?.throwIfAborted();
        if ('text' in delta) streamed.texts.push(delta.text);
        if (delta.kind === 'text') streamed.isShown = true;
        return onDelta(delta);
      });
    }
    const answer = readAnswer(await provider.chat(messages, options));
    signal?.throwIfAborted();
    for (const delta of deltasOf(answer)) void onDelta(delta);
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
   * Resolves with the validated answer of a call, or rejects as the call does. Rejects with the signal's reason as soon
   * as the run's signal aborts, and with the error of `timeout` when the time is up.
   */
  limit(call: Promise<Answer>): Promise<ModelAnswer> {
    return new Promise<ModelAnswer>((resolve, reject) => {
      this.#start(reject);
      call.then(
        (answer) => {
          this.#end(reject);
          // Here, because another `then` would be another promise per call.
          try {
            resolve(readAnswer(answer));
          } catch (error) {
            reject(error);
          }
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
  /** The part of `model` that each call is sent. */
  readonly sent: ModelOptions;
  readonly maxTokensLimit: MaxTokensLimit;
  /** Tools that the model must, may or must not call in the current turn, whatever it has called before. */
  readonly turnChoice?: NonNullable<ModelOptions['toolChoice']>;
}

/** Returns a candidate with the changes for one turn. @param isFirst settings of the model apply to the first candidate */
export function plannedCandidate(candidate: ModelCandidate, plan: TurnPlan, isFirst: boolean): ModelCandidate {
  const { toolChoice: turnChoice, provider = candidate.provider } = plan;
  const changes = isFirst || plan.provider !== undefined ? plan.model : undefined;
  const chosen = turnChoice === undefined ? {} : { turnChoice };
  if (changes === undefined && plan.provider === undefined) return { ...candidate, ...chosen };
  const { timeoutMs: _enforcedByCaller, ...sent } = { ...candidate.sent, ...changes };
  const model = { ...candidate.model, ...changes };
  const isSame = provider === candidate.provider && model.model === candidate.model.model;
  const maxTokensLimit = isSame ? candidate.maxTokensLimit : new MaxTokensLimit();
  return { ...candidate, provider, model, sent, maxTokensLimit, ...chosen };
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
