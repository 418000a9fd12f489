import { quote } from '../../errors.js';
import type { SentText } from '../../hub/events/durable-place.js';
import { type Limit, selectLimit } from '../../hub/limits/limit.js';
import type { AgentContext } from '../agent/agent-context.js';
import { type AgentSpec, countBegin } from '../agent-spec.js';
import type { ToolDefinition } from '../model/message.js';
import { type AnswerDelta, deltasOf, type OnDelta, type PaidAnswer } from '../model/model-answer.js';
import type { TypedOutput } from '../model/output-schema.js';
import type { ReachedSpendLimit, TokenLedger } from '../model/token-ledger.js';
import type { TokenUsage } from '../model/token-usage.js';
import type { ToolRegistry } from '../tools/tool-registry.js';
import type { AgentPublisher } from './agent-publisher.js';
import { reservationsOf } from './call-reservations.js';
import { limitedCalls, ModelCaller } from './model-caller.js';
import type { AnswerSource, AskedTurn, LimitedTurn, TurnAnswer } from './recorded-turn.js';
import { publishing, type RunParts } from './run-parts.js';
import { checkApprover, type RunRequest } from './run-request.js';
import { decidedCalls, isExecuted, type ToolPhase } from './tool-phase.js';
import type { Transcript } from './transcript.js';
import { refuseUnoffered, TurnHooks } from './turn-hooks.js';
import type { TurnRecorder } from './turn-recorder.js';

/** Part of a run whose model a {@link ModelPhase} calls. */
export interface ModelPhaseOptions {
  readonly agent: AgentSpec;
  readonly request: RunRequest;
  readonly parts: RunParts;
  readonly ledger: TokenLedger;
  readonly ctx: AgentContext;
  readonly tools: ToolRegistry;
  readonly toolPhase: ToolPhase;
  /** Present if the agent has an `outputSchema`. */
  readonly output: TypedOutput | undefined;
  /** Present if the run publishes its events. */
  readonly publisher: AgentPublisher | undefined;
  /** No earlier attempt began the agent's part. */
  readonly isNew: boolean;
}

const none: readonly number[] = [];
const noTools: ToolDefinition[] = [];

/** First half of a run's turns: calls the model, or replays a recorded answer, and decides on the calls of the answer. */
export class ModelPhase implements AnswerSource {
  /** Present if the agent has hooks. */
  readonly hooks: TurnHooks | undefined;
  readonly #agent: AgentSpec;
  readonly #request: RunRequest;
  readonly #transcript: Transcript;
  /** Present if the run is durable. */
  readonly #recorder: TurnRecorder | undefined;
  readonly #ledger: TokenLedger;
  readonly #ctx: AgentContext;
  readonly #toolPhase: ToolPhase;
  readonly #output: TypedOutput | undefined;
  readonly #model: ModelCaller;
  /** Receives the texts of new answers. Present if the run is streamed or published. */
  readonly #onText: OnDelta | undefined;
  /** Number of the agent's first turn in a process, unless an earlier attempt began it. */
  readonly #firstTurn: number | undefined;
  #tools: ToolRegistry;
  #isLive = false;
  #isLast = false;

  constructor(options: ModelPhaseOptions) {
    const { agent, request, parts, ledger, ctx, publisher, isNew } = options;
    const { transcript, recorder, waits } = parts;
    this.#agent = agent;
    this.#request = request;
    this.#transcript = transcript;
    this.#recorder = recorder;
    this.#ledger = ledger;
    this.#ctx = ctx;
    this.#toolPhase = options.toolPhase;
    this.#output = options.output;
    this.#tools = options.tools;
    this.#firstTurn = isNew ? transcript.turns + 1 : undefined;
    this.hooks =
      agent.isHooked || typeof agent.systemPrompt === 'function'
        ? new TurnHooks({ agent, ctx, waits, transcript, ledger })
        : undefined;
    const show = request.onEvent && ((delta: AnswerDelta) => this.show(delta));
    this.#onText = publisher === undefined ? show : publishing(publisher, transcript, show);
    // A text that `afterModel` has not accepted is not shown.
    const onDelta = agent.hooks.afterModel === undefined ? this.#onText : undefined;
    const onFailure = recorder && ((usage: TokenUsage) => recorder.failed(transcript.turns, usage));
    this.#model = new ModelCaller(
      agent,
      ctx,
      ledger,
      waits,
      onDelta,
      onFailure,
      limitedCalls(this.limit, request, waits),
      reservationsOf(agent, request, ledger, waits, ctx),
    );
  }

  get limit(): Limit | undefined {
    const { limit, name } = this.#agent;
    return limit && selectLimit(limit, this.#ctx.payload, `limit of agent ${quote(name)}`);
  }

  /**
   * Makes the model call of a turn, or returns its recorded answer. Resolves with `undefined` if it does not fit into the
   * budget.
   *
   * @param isLast the turn is the one after `maxIterations`, without tools
   */
  turn(isLast = false): Promise<AskedTurn | undefined> {
    this.#isLast = isLast;
    return this.#recorder === undefined ? this.ask() : this.#recorder.answer(this.#transcript.turns, this);
  }

  /** Passes a part of an answer to the reader of the stream. */
  show(delta: AnswerDelta): Promise<void> | undefined {
    const { onEvent } = this.#request;
    const { turns: turn } = this.#transcript;
    if (delta.kind === 'source') return onEvent?.({ type: 'source', turn, source: delta.source });
    if (delta.kind === 'vendor-call') return onEvent?.({ type: 'vendor-call', turn, call: delta.call });
    const { kind, text } = delta;
    if (kind === 'reasoning') return onEvent?.({ type: 'reasoning-delta', turn, text });
    const room = onEvent?.({ type: 'text-delta', turn, text });
    const unvalidated = onEvent && this.#output?.partial(turn, text);
    if (unvalidated !== undefined) void onEvent?.({ type: 'object-delta', turn, unvalidated });
    return room;
  }

  get usage(): TokenUsage {
    return this.#ledger.usage;
  }

  get refused(): LimitedTurn | undefined {
    const { exhausted: budget } = this.#ledger;
    const { spendLimit } = this.#model;
    return budget === undefined ? undefined : { budget, ...(spendLimit && { spendLimit }) };
  }

  replayRefused({ budget, spendLimit }: LimitedTurn): void {
    this.#model.refuse(budget, spendLimit);
  }

  /** Spending limit that left no room for the last call; `undefined` if there was room. */
  get spendLimit(): ReachedSpendLimit | undefined {
    return this.#model.spendLimit;
  }

  /** Maximum number of tokens per answer of the model. */
  get maxTokens(): number | undefined {
    return this.#model.maxTokens;
  }

  /** Returns `true` if a model was called in this process. */
  get isLive(): boolean {
    return this.#isLive;
  }

  /** Releases what the calls hold. The agent's part of the run has ended, or has left the process. */
  close(): void {
    this.#model.close();
  }

  get model(): string {
    return this.#model.name;
  }

  isTool(name: string): boolean {
    return this.#tools.get(name) !== undefined;
  }

  isRetryable(name: string): boolean {
    return this.#tools.get(name)?.retryable !== false;
  }

  ask(): Promise<TurnAnswer | undefined> {
    const { messages, inputIndex, turns } = this.#transcript;
    if (turns === this.#firstTurn && !this.#isLive) countBegin(this.#agent.totals, this.#agent.clock.now());
    this.#isLive = true;
    if (this.hooks !== undefined) return this.#askWith(this.hooks);
    const tools = this.#isLast ? noTools : this.#tools.getDefinitions();
    return this.#model.call(messages, inputIndex, tools).then(this.#toTurn);
  }

  async #askWith(hooks: TurnHooks): Promise<TurnAnswer | undefined> {
    this.#useTools(await hooks.tools());
    const call = await hooks.prepare(this.#tools.getDefinitions(), this.#isLast);
    const paid = await this.#model.call(call.messages, call.inputIndex, call.tools, call.plan);
    if (paid === undefined) return undefined;
    try {
      const { answer, refusal } = await hooks.review(paid);
      return await this.#decided(answer, refusal, call.tools);
    } catch (error) {
      // No record has its tokens.
      this.#recorder?.failed(this.#transcript.turns, paid.usage);
      throw error;
    }
  }

  /** Returns an answer that `afterModel` saw, with the decisions on its calls. */
  async #decided(answer: PaidAnswer, refusal: string | undefined, tools: ToolDefinition[]): Promise<TurnAnswer> {
    const { turns } = this.#transcript;
    const calls = this.#transcript.distinct(answer.toolCalls);
    const turn: TurnAnswer = {
      answer,
      calls,
      asks: none,
      isOverBudget: this.#ledger.isExceeded,
      provider: this.#model.provider,
    };
    if (refusal !== undefined) return { ...turn, refusal };
    const isHeld = this.#agent.hooks.afterModel !== undefined;
    if (isHeld) for (const delta of deltasOf(answer)) void this.#onText?.(delta);
    const isOffered = (index: number): boolean => tools.some(({ name }) => name === calls[index]?.name);
    const asked = await this.#toolPhase.decisionsOn(turns, calls, isOffered);
    const decisions = refuseUnoffered(asked, calls, tools, (name) => this.isTool(name));
    const asks = await this.#toolPhase.asksOf(decidedCalls(calls, decisions), isExecuted(decisions));
    return { ...turn, asks, decisions };
  }

  /** Uses the tools that the agent has now in an interrupted turn. */
  async useToolsOfTurn(): Promise<void> {
    this.#useTools(await this.hooks?.tools());
  }

  /** Uses the tools of the current turn, unless they are those of the agent. @throws {NoApproverError} */
  #useTools(tools: ToolRegistry | undefined): void {
    if (tools === undefined || tools === this.#tools) return;
    checkApprover(this.#agent, this.#request, tools);
    this.#tools = tools;
    this.#toolPhase.useTools(tools);
  }

  /** Calls of a recorded answer that have no result are executed with the tools that the agent has now. */
  async useToolsOfReplay({ calls }: AskedTurn): Promise<void> {
    const recorder = this.#recorder;
    const { turns } = this.#transcript;
    if (recorder === undefined || calls.every((_, index) => recorder.isAnswered(turns, index))) return;
    this.#useTools(await recorder.run.hold(async () => this.hooks?.tools()));
  }

  readonly #toTurn = (answer: PaidAnswer | undefined): TurnAnswer | Promise<TurnAnswer> | undefined => {
    if (answer === undefined) return undefined;
    const calls = this.#transcript.distinct(answer.toolCalls);
    const turnWith = (asks: readonly number[]): TurnAnswer => {
      return { answer, calls, asks, isOverBudget: this.#ledger.isExceeded, provider: this.#model.provider };
    };
    return this.#tools.asksForApproval ? this.#toolPhase.asksOf(calls).then(turnWith) : turnWith(none);
  };

  receive(texts: readonly SentText[]): void {
    const transcript = this.#transcript;
    for (const { id, text } of texts) {
      // A durable run stores its messages at its end: there is nothing to wait for.
      void transcript.add({ role: 'user', content: text });
      void this.#request.onEvent?.({ type: 'sent-text', turn: transcript.turns, id, text });
    }
  }

  replay({ answer, calls, provider, refusal }: TurnAnswer, spent: TokenUsage): void {
    const transcript = this.#transcript;
    this.#ledger.replay(spent);
    this.#model.replay(answer, transcript.messages, provider);
    transcript.reserve(calls);
    const isShown = refusal === undefined && this.#request.onEvent !== undefined;
    if (isShown) for (const delta of deltasOf(answer)) void this.show(delta);
  }
}
