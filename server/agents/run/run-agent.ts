import { setMaxListeners } from 'node:events';
import { messageOf, quote } from '../../errors.js';
import { reportAgents } from '../../hub/events/attempt-ctx.js';
import type { SentText } from '../../hub/events/durable-place.js';
import { type Limit, selectLimit } from '../../hub/limits/limit.js';
import { type AbortableWaits, abortable } from '../abortable.js';
import { type AgentContext, handlerContextOf, lineageOf } from '../agent/agent-context.js';
import { refusalNote } from '../agent/hooks.js';
import {
  type AgentRunResult,
  type AgentRunStatus,
  type SettledAgentRun,
  withHiddenMessages,
} from '../agent/run-result.js';
import { type AgentSpec, countBegin, countHandedOver, countRun, sourceOf, takersOf } from '../agent-spec.js';
import { EmptyAnswerError, TruncatedOutputError } from '../errors.js';
import type { ResumedExchange } from '../memory/stored-exchange.js';
import type { Message, ToolDefinition } from '../model/message.js';
import {
  type AnswerDelta,
  deltasOf,
  type OnDelta,
  type PaidAnswer,
  unreadableCallNote,
} from '../model/model-answer.js';
import { type AnswerProblem, TypedOutput } from '../model/output-schema.js';
import type { TokenLedger } from '../model/token-ledger.js';
import type { CallSpending, TokenUsage } from '../model/token-usage.js';
import { countHandoff, replaySpending, startDescent } from '../multi-agent/delegation.js';
import { refusalReason } from '../tools/tool-executor.js';
import type { ToolRegistry } from '../tools/tool-registry.js';
import type { AgentPublisher } from './agent-publisher.js';
import { reservationsOf } from './call-reservations.js';
import { firstAgents, observeLocally, type Takeover, takeoverBy } from './handoff.js';
import { limitedCalls, ModelCaller } from './model-caller.js';
import type { AnswerSource, AskedTurn, LimitedTurn, TurnAnswer } from './recorded-turn.js';
import { collectVendorParts, createRunParts, publisherOf, publishing, type RunParts } from './run-parts.js';
import { checkApprover, createRunScope, type RunRequest } from './run-request.js';
import { decidedCalls, isExecuted, ToolPhase } from './tool-phase.js';
import type { AnswerMark, RunConversation, Transcript } from './transcript.js';
import { refuseUnoffered, TurnHooks } from './turn-hooks.js';
import type { RunTimer, TurnRecorder } from './turn-recorder.js';

/**
 * Runs the reason-and-act loop: calls the model, executes the tool calls that it requests, and repeats until the model
 * answers with text only.
 *
 * Resolves whatever model, tools, memory and delegates do. Rejects with the signal's reason, and if the run of
 * `hubCtx` must not delegate to this agent.
 *
 * @throws {DelegationCycleError | DelegationDepthError | DelegationLimitError}
 */
export async function runAgent(agent: AgentSpec, request: RunRequest): Promise<SettledAgentRun> {
  const { signal } = request;
  signal?.throwIfAborted();
  // Every tool call and delegate adds a listener; the warning about a leak would be wrong.
  if (signal instanceof EventTarget) setMaxListeners(0, signal);
  startDescent(lineageOf(request.hubCtx), agent.name);
  checkApprover(agent, request);
  if (agent.registry !== undefined) for (const taker of takersOf(agent)) checkApprover(taker, request);
  if (request.hubCtx !== undefined) reportAgents(handlerContextOf(request.hubCtx), sourceOf(agent));
  return new RunLoop(agent, request, undefined).execute();
}

const none: readonly number[] = [];
const noTools: ToolDefinition[] = [];

type End = Omit<AnswerMark, 'refusal'>;

/** Part of a run after another one. */
interface NextPart extends Takeover {
  readonly parts: RunParts;
  /** Context of the agent that had the conversation before. */
  readonly ctx: AgentContext;
}

/** Loop of model calls and tool calls of one run, or of an agent's part in it. */
class RunLoop implements AnswerSource {
  readonly #agent: AgentSpec;
  readonly #request: RunRequest;
  readonly #timer: RunTimer;
  readonly #waits: AbortableWaits;
  readonly #parts: RunParts;
  /** Present if another agent had the conversation before. */
  readonly #next: NextPart | undefined;
  /** Number of the agent's first turn in a process, unless an earlier attempt began it. */
  readonly #firstTurn: number | undefined;
  readonly #publisher: AgentPublisher | undefined;
  /** Present if the run is durable. */
  readonly #recorder: TurnRecorder | undefined;
  readonly #ledger: TokenLedger;
  readonly #ctx: AgentContext;
  #tools: ToolRegistry;
  /** Present if the agent has hooks. */
  readonly #hooks: TurnHooks | undefined;
  readonly #transcript: Transcript;
  /** Present if the agent has a memory. */
  readonly #conversation: RunConversation | undefined;
  readonly #toolPhase: ToolPhase;
  readonly #model: ModelCaller;
  /** Present if the agent has an `outputSchema`. */
  readonly #output: TypedOutput | undefined;
  /** Receives the texts of new answers. Present if the run is streamed or published. */
  readonly #onText: OnDelta | undefined;
  #isTruncated = false;
  /** A model was called in this process. */
  #isLive = false;
  /** The turn is the one after `maxIterations`, without tools. */
  #isLastTurn = false;

  constructor(agent: AgentSpec, request: RunRequest, next: NextPart | undefined) {
    const { onEvent, publishes } = request;
    const publisher = publishes ? publisherOf(agent) : undefined;
    const parts = next?.parts ?? createRunParts(agent, request, publisher);
    const { first, timer, waits, recorder, transcript, exchangeId, results } = parts;
    this.#agent = agent;
    this.#request = request;
    this.#parts = parts;
    this.#next = next;
    this.#publisher = publisher;
    this.#timer = timer;
    this.#waits = waits;
    this.#recorder = recorder;
    this.#transcript = transcript;
    this.#conversation = parts.conversation;
    this.#firstTurn = next?.resumed === undefined ? transcript.turns + 1 : undefined;
    // An agent that has the conversation again continues with its budget.
    const ledgerOfRun = agent === first ? parts.scope.ledger : undefined;
    const { ledger, ctx, approver } =
      next === undefined ? parts.scope : createRunScope(agent, request, exchangeId, { ...next, ledger: ledgerOfRun });
    this.#ledger = ledger;
    this.#ctx = ctx;
    this.#tools = agent.tools();
    const { output, name, model } = agent;
    this.#output = output && new TypedOutput(output.schema, name, output.retries, model.maxTokens);
    this.#hooks =
      agent.isHooked || typeof agent.systemPrompt === 'function'
        ? new TurnHooks({ agent, ctx, waits, transcript, ledger })
        : undefined;
    const { maxToolCalls } = first;
    const tools = this.#tools;
    const calls = { agent, tools, transcript, maxToolCalls, results, ctx, waits, recorder, approver, onEvent };
    this.#toolPhase = new ToolPhase(calls);
    const show = onEvent && ((delta: AnswerDelta) => this.#show(delta));
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
    recorder?.run.onLeave(() => this.#stop());
  }

  /** Limit of the model calls. */
  get limit(): Limit | undefined {
    const { limit, name } = this.#agent;
    return limit && selectLimit(limit, this.#ctx.payload, `limit of agent ${quote(name)}`);
  }

  async execute(): Promise<SettledAgentRun> {
    let result: SettledAgentRun;
    try {
      result = await this.#settle();
    } finally {
      this.#waits.close();
    }
    if (this.#conversation !== undefined) await this.#conversation.release();
    this.#request.onEvent?.({ type: 'run-end', result: withHiddenMessages(result) });
    return result;
  }

  /** Takes the turns of the agent, and of those that it hands the conversation over to. */
  async #settle(): Promise<SettledAgentRun> {
    let next: RunLoop;
    try {
      const ended = await this.#loop();
      if (typeof ended === 'string') {
        this.#recorder?.end();
        if (this.#conversation !== undefined) await this.#conversation.store();
        return this.#end(ended);
      }
      next = this.#handOver(ended);
    } catch (thrown) {
      this.#recorder?.end();
      return await this.#fail(thrown instanceof Error ? thrown : new Error(messageOf(thrown), { cause: thrown }));
    } finally {
      this.#model.close();
    }
    return observeLocally(this.#request, next.#agent, () => next.#settle(), next.#ledger.usage);
  }

  #handOver(takeover: Takeover): RunLoop {
    const { agent, isStart, resumed } = takeover;
    const { name, totals } = this.#agent;
    if (!isStart) countHandoff(this.#ctx);
    if (this.#isLive) countHandedOver(totals);
    const { turns: turn } = this.#transcript;
    if (!isStart && resumed === undefined)
      void this.#request.onEvent?.({ type: 'handoff', turn, from: name, to: agent.name });
    return new RunLoop(agent, this.#request, { ...takeover, parts: this.#parts, ctx: this.#ctx });
  }

  /** Releases the timer and the listener of the run. */
  #stop(): void {
    this.#model.close();
    this.#waits.close();
  }

  async #loop(): Promise<AgentRunStatus | Takeover> {
    const { maxIterations, finalAnswerTurn } = this.#parts.first;
    const transcript = this.#transcript;
    const recorder = this.#recorder;
    const begun = await (this.#next === undefined ? this.#begin() : this.#takeOver(this.#next));
    if (begun !== undefined && 'agent' in begun) return begun;
    const resumed = begun && (await this.#resume(begun));
    if (resumed !== undefined) return resumed;
    let wasEmpty = false;
    // The parts of a turn are not async: each async function would cost a young process a microsecond.
    while (transcript.turns < maxIterations) {
      transcript.turns++;
      const asked = await this.#ask();
      if (asked === undefined) return 'token_budget_exceeded';
      const { answer, calls, refusal } = asked;
      collectVendorParts(this.#parts, asked);
      const isText = calls.length === 0 && answer.unreadableCall === undefined;
      const isEmpty = isText && refusal === undefined && answer.content.trim() === '';
      if (isEmpty) this.#checkEmpty(asked, wasEmpty);
      wasEmpty = isEmpty;
      const isFinal = isText && !isEmpty;
      const output = isFinal && refusal === undefined ? this.#output : undefined;
      let problem = output && (await output.read(answer.content, answer.finishReason));
      if (isFinal && refusal !== undefined) problem = { note: refusalNote(refusal) };
      const mayGoOn = isFinal && problem === undefined && !asked.isOverBudget && transcript.turns < maxIterations;
      const isSteered = mayGoOn && recorder !== undefined && (await recorder.isSteered(transcript.turns, asked));
      const end = isFinal && !isSteered ? this.#endOf(asked, problem) : undefined;
      const stored = this.#add(asked, end);
      if (stored !== undefined) await stored;
      if (calls.length > 0) {
        const mayExecute = asked.isReplayed && refusal === undefined;
        if (mayExecute && this.#agent.turnTools !== undefined) await this.#useToolsOfReplay(asked);
        await this.#executeCalls(asked);
      }
      const ended = this.#endTurn(asked, end, problem);
      const next = ended ?? this.#takeover();
      if (next !== undefined) return next;
    }
    return finalAnswerTurn && transcript.turns === maxIterations ? this.#answerFinally() : 'max_iterations';
  }

  /** Returns the agent that the last turn handed the conversation over to. */
  #takeover(): Takeover | undefined {
    const { handoff } = this.#toolPhase;
    return handoff === undefined ? undefined : takeoverBy(this.#agent, [handoff]);
  }

  async #begin(): Promise<ResumedExchange | Takeover | undefined> {
    const { input, signal } = this.#request;
    const transcript = this.#transcript;
    const recorder = this.#recorder;
    const store = this.#conversation && (await this.#conversation.open());
    const agents = this.#conversation && (await firstAgents(this.#agent, store, recorder));
    transcript.agents = agents?.names;
    const prompt = agents?.takeover === undefined ? await this.#prompt() : '';
    const resumed = await transcript.begin(prompt, input, store, recorder?.run);
    if (resumed !== undefined) this.#ledger.resume(resumed.mark.usage);
    signal?.throwIfAborted();
    return agents?.takeover ?? resumed;
  }

  /** Continues the run of another agent. Returns the next agent if an earlier attempt got further. */
  async #takeOver({ rest, resumed }: NextPart): Promise<ResumedExchange | Takeover | undefined> {
    const { name } = this.#agent;
    const count = (spent: CallSpending): void => replaySpending(lineageOf(this.#ctx), spent);
    this.#recorder?.continueAs(name, count, this.#publisher);
    const next = takeoverBy(this.#agent, rest, resumed);
    if (next !== undefined) return next;
    this.#transcript.changePrompt(await this.#prompt());
    this.#request.signal?.throwIfAborted();
    return resumed;
  }

  // Not async: a text is there at once.
  #prompt(): string | Promise<string> {
    const { systemPrompt } = this.#agent;
    return typeof systemPrompt === 'string' ? systemPrompt : this.#createPrompt(systemPrompt);
  }

  #createPrompt(create: (ctx: AgentContext) => string | Promise<string>): Promise<string> {
    const hooks = this.#hooks;
    const prompt = async (): Promise<string> => hooks?.systemPrompt(create) ?? '';
    return this.#recorder === undefined ? prompt() : this.#recorder.systemPrompt(prompt);
  }

  /** Continues where an earlier attempt stopped. Resolves with the status if the run had ended. */
  async #resume({
    messages,
    mark,
    handoff,
    openCalls,
    refusal,
  }: ResumedExchange): Promise<AgentRunStatus | Takeover | undefined> {
    const transcript = this.#transcript;
    this.#toolPhase.resume(messages.flatMap(({ toolCalls }) => (toolCalls ? [toolCalls] : [])));
    if (mark.status !== undefined) {
      this.#isTruncated = mark.truncated === true;
      if (transcript.lastText !== '') void this.#show({ kind: 'text', text: transcript.lastText });
      if (mark.status === 'completed') await this.#output?.readAgain(transcript.lastText);
      return mark.status;
    }
    if (openCalls.length > 0) {
      this.#toolPhase.handoff = handoff;
      if (refusal === undefined) {
        this.#useTools(await this.#hooks?.tools());
        await this.#toolPhase.repeat(openCalls, transcript.turns);
      } else await this.#toolPhase.refuse(openCalls, transcript.turns, refusal);
      this.#request.signal?.throwIfAborted();
    }
    return this.#takeover();
  }

  /** Makes a model call, or returns its recorded answer. `undefined` if it does not fit into the budget. */
  #ask(): Promise<AskedTurn | undefined> {
    return this.#recorder === undefined ? this.ask() : this.#recorder.answer(this.#transcript.turns, this);
  }

  /** Passes a part of an answer to the reader of the stream. */
  #show(delta: AnswerDelta): Promise<void> | undefined {
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
    if (this.#hooks !== undefined) return this.#askWith(this.#hooks);
    const tools = this.#isLastTurn ? noTools : this.#tools.getDefinitions();
    return this.#model.call(messages, inputIndex, tools).then(this.#toTurn);
  }

  async #askWith(hooks: TurnHooks): Promise<TurnAnswer | undefined> {
    this.#useTools(await hooks.tools());
    const call = await hooks.prepare(this.#tools.getDefinitions(), this.#isLastTurn);
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

  /** Uses the tools of the current turn, unless they are those of the agent. @throws {NoApproverError} */
  #useTools(tools: ToolRegistry | undefined): void {
    if (tools === undefined || tools === this.#tools) return;
    checkApprover(this.#agent, this.#request, tools);
    this.#tools = tools;
    this.#toolPhase.useTools(tools);
  }

  /** Calls of a recorded answer that have no result are executed with the tools that the agent has now. */
  async #useToolsOfReplay({ calls }: AskedTurn): Promise<void> {
    const recorder = this.#recorder;
    const { turns } = this.#transcript;
    if (recorder === undefined || calls.every((_, index) => recorder.isAnswered(turns, index))) return;
    this.#useTools(await recorder.run.hold(async () => this.#hooks?.tools()));
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
    if (isShown) for (const delta of deltasOf(answer)) void this.#show(delta);
  }

  /** @throws {TruncatedOutputError | EmptyAnswerError} if another turn would not help against an empty answer */
  #checkEmpty({ answer, isOverBudget, isOld }: AskedTurn, wasEmpty: boolean): void {
    if (isOld) return;
    // A repetition would spend the same tokens on reasoning again.
    if (answer.finishReason === 'length' && !isOverBudget) {
      throw new TruncatedOutputError(this.#agent.name, 'text', this.#model.maxTokens);
    }
    if (wasEmpty) throw new EmptyAnswerError(this.#agent.model.model);
  }

  /** Adds an answer to the transcript. */
  #add({ answer, calls, refusal }: AskedTurn, end: End | undefined): PromiseLike<void> | undefined {
    const { content, providerMetadata } = answer;
    const transcript = this.#transcript;
    if (calls.length === 0 && content.trim() === '') return undefined;
    const message: Message =
      calls.length > 0 ? { role: 'assistant', content, toolCalls: calls } : { role: 'assistant', content };
    // It refers to calls by position.
    if (providerMetadata && calls.length === answer.toolCalls.length) message.providerMetadata = providerMetadata;
    return transcript.add(message, refusal === undefined ? end : { ...end, refusal });
  }

  /** Executes the calls of an answer, and adds their results to the transcript. */
  #executeCalls({
    answer,
    calls,
    asks,
    decisions,
    refusal: refused,
    isOverBudget,
    isReplayed = false,
  }: AskedTurn): Promise<void> {
    const { onEvent } = this.#request;
    const { turns: turn } = this.#transcript;
    const isRefused = refused !== undefined;
    if (onEvent !== undefined && !isRefused)
      for (const toolCall of calls) onEvent({ type: 'tool-call', turn, toolCall });
    const refusal = refusalReason(answer.finishReason === 'length', isOverBudget) ?? refused;
    return this.#toolPhase.run({ turn, calls, asks, decisions, isReplayed, isRefused }, refusal);
  }

  /** Ends a turn. Returns the status if the run ends with it. */
  #endTurn(
    { answer, calls, isOverBudget }: AskedTurn,
    end: End | undefined,
    problem: AnswerProblem | undefined,
  ): AgentRunStatus | undefined {
    const { onEvent, signal } = this.#request;
    const { usage, finishReason, unreadableCall } = answer;
    const transcript = this.#transcript;
    if (calls.length === 0 && unreadableCall !== undefined) transcript.addNote(unreadableCallNote(unreadableCall));
    else if (problem !== undefined && 'note' in problem) transcript.addNote(problem.note);
    onEvent?.({ type: 'turn-end', turn: transcript.turns, usage, finishReason });
    signal?.throwIfAborted();
    if (end === undefined && problem !== undefined && 'error' in problem) throw problem.error;
    return end?.status ?? (isOverBudget ? 'token_budget_exceeded' : undefined);
  }

  /** Makes one more call without tools. */
  async #answerFinally(): Promise<AgentRunStatus> {
    const transcript = this.#transcript;
    transcript.turns++;
    this.#isLastTurn = true;
    const asked = await this.#ask();
    if (asked === undefined) return 'token_budget_exceeded';
    const { answer, isOverBudget, refusal } = asked;
    collectVendorParts(this.#parts, asked);
    const { content, usage, finishReason } = answer;
    const status = isOverBudget ? 'token_budget_exceeded' : 'max_iterations';
    if (refusal === undefined) await this.#output?.read(content, finishReason);
    if (content.trim() !== '') {
      const mark: AnswerMark = refusal === undefined ? this.#markOf(status, answer) : { status, refusal };
      await transcript.add({ role: 'assistant', content }, mark);
    }
    this.#request.onEvent?.({ type: 'turn-end', turn: transcript.turns, usage, finishReason });
    return status;
  }

  /** Returns the end of the run with a text, unless the model has to correct it. */
  #endOf({ answer, isOverBudget }: AskedTurn, problem: AnswerProblem | undefined): End | undefined {
    if (isOverBudget) return this.#markOf('token_budget_exceeded', answer);
    return problem === undefined ? this.#markOf('completed', answer) : undefined;
  }

  #markOf(status: Exclude<AgentRunStatus, 'failed'>, { finishReason }: PaidAnswer): End {
    this.#isTruncated = finishReason === 'length';
    return { status, ...(this.#isTruncated && { truncated: true }) };
  }

  async #fail(error: Error): Promise<SettledAgentRun> {
    const { name, totals } = this.#agent;
    const { runId, signal } = this.#request;
    const closed = this.#close(`not executed: ${messageOf(error)}`).catch((err: unknown) => {
      this.#ctx.logger.error({ err }, `agent ${quote(name)} failed to store the end of run ${quote(runId)}`);
    });
    // Ends at an abort: the memory itself may hang.
    const isAborted = await abortable(closed, signal).then(
      () => signal?.aborted,
      () => true,
    );
    if (!isAborted) return this.#end('failed', error);
    totals.runs.aborted++;
    void this.#conversation?.release();
    throw signal?.reason;
  }

  async #close(reason: string): Promise<void> {
    await this.#transcript.close(reason);
    if (!this.#request.signal?.aborted) await this.#conversation?.storeFailed();
  }

  #end(status: AgentRunStatus, error?: Error): SettledAgentRun {
    // What only replays its record was counted when it ended.
    if (this.#isLive || this.#recorder === undefined) countRun(this.#agent.totals, status, this.#timer.elapsedMs);
    const { messages, lastText: output } = this.#transcript;
    const data = this.#output?.data;
    const { cost } = this.#parts.scope.ledger.usage;
    const result: AgentRunResult = {
      agentName: this.#agent.name,
      runId: this.#request.runId,
      output,
      messages,
      toolCalls: this.#toolPhase.results,
      tokenUsage: { ...this.#parts.scope.ledger.usage },
      status,
    };
    // No spreads: they take longer than the rest of the function.
    if (data !== undefined) result.data = data;
    if (cost !== undefined) result.cost = cost;
    if (this.#isTruncated) result.truncated = true;
    const { sources, vendorCalls } = this.#parts;
    if (sources.length > 0) result.sources = sources;
    if (vendorCalls.length > 0) result.vendorCalls = vendorCalls;
    const { exhausted } = this.#ledger;
    if (status === 'token_budget_exceeded' && exhausted !== undefined) {
      result.budget = exhausted;
      const { spendLimit } = this.#model;
      if (exhausted === 'spendLimits' && spendLimit !== undefined) result.spendLimit = spendLimit;
    }
    if (error !== undefined) result.error = error;
    // A run that completed has the data of its schema, and `#fail` alone passes an error.
    return result as SettledAgentRun;
  }
}
