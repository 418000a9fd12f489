import { setMaxListeners } from 'node:events';
import { messageOf, quote } from '../../errors.js';
import { reportAgents } from '../../hub/events/attempt-ctx.js';
import { type AbortableWaits, abortable } from '../abortable.js';
import { type AgentContext, handlerContextOf, lineageOf } from '../agent/agent-context.js';
import { refusalNote } from '../agent/hooks.js';
import {
  type AgentRunResult,
  type AgentRunStatus,
  type SettledAgentRun,
  withHiddenMessages,
} from '../agent/run-result.js';
import { type AgentSpec, countHandedOver, countRun, sourceOf, takersOf } from '../agent-spec.js';
import { EmptyAnswerError, TruncatedOutputError } from '../errors.js';
import type { ResumedExchange } from '../memory/stored-exchange.js';
import type { Message } from '../model/message.js';
import { type PaidAnswer, unreadableCallNote } from '../model/model-answer.js';
import { type AnswerProblem, TypedOutput } from '../model/output-schema.js';
import type { TokenLedger } from '../model/token-ledger.js';
import type { CallSpending } from '../model/token-usage.js';
import { countHandoff, replaySpending, startDescent } from '../multi-agent/delegation.js';
import { refusalReason } from '../tools/tool-executor.js';
import type { AgentPublisher } from './agent-publisher.js';
import { firstAgents, observeLocally, type Takeover, takeoverBy } from './handoff.js';
import { ModelPhase } from './model-phase.js';
import type { AskedTurn } from './recorded-turn.js';
import { collectVendorParts, createRunParts, publisherOf, type RunParts } from './run-parts.js';
import { checkApprover, createRunScope, type RunRequest } from './run-request.js';
import { ToolPhase } from './tool-phase.js';
import type { AnswerMark, RunConversation, Transcript } from './transcript.js';
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

type End = Omit<AnswerMark, 'refusal'>;

/** Part of a run after another one. */
interface NextPart extends Takeover {
  readonly parts: RunParts;
  /** Context of the agent that had the conversation before. */
  readonly ctx: AgentContext;
}

/** Loop of model calls and tool calls of one run, or of an agent's part in it. */
class RunLoop {
  readonly #agent: AgentSpec;
  readonly #request: RunRequest;
  readonly #timer: RunTimer;
  readonly #waits: AbortableWaits;
  readonly #parts: RunParts;
  /** Present if another agent had the conversation before. */
  readonly #next: NextPart | undefined;
  readonly #publisher: AgentPublisher | undefined;
  /** Present if the run is durable. */
  readonly #recorder: TurnRecorder | undefined;
  readonly #ledger: TokenLedger;
  readonly #ctx: AgentContext;
  readonly #transcript: Transcript;
  /** Present if the agent has a memory. */
  readonly #conversation: RunConversation | undefined;
  readonly #modelPhase: ModelPhase;
  readonly #toolPhase: ToolPhase;
  /** Present if the agent has an `outputSchema`. */
  readonly #output: TypedOutput | undefined;
  #isTruncated = false;

  constructor(agent: AgentSpec, request: RunRequest, next: NextPart | undefined) {
    const publisher = request.publishes ? publisherOf(agent) : undefined;
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
    // An agent that has the conversation again continues with its budget.
    const ledgerOfRun = agent === first ? parts.scope.ledger : undefined;
    const { ledger, ctx, approver } =
      next === undefined ? parts.scope : createRunScope(agent, request, exchangeId, { ...next, ledger: ledgerOfRun });
    this.#ledger = ledger;
    this.#ctx = ctx;
    const { output: typed, name, model } = agent;
    const output = typed && new TypedOutput(typed.schema, name, typed.retries, model.maxTokens);
    this.#output = output;
    const tools = agent.tools();
    const { maxToolCalls } = first;
    const { onEvent } = request;
    const calls = { agent, tools, transcript, maxToolCalls, results, ctx, waits, recorder, approver, onEvent };
    const toolPhase = new ToolPhase(calls);
    this.#toolPhase = toolPhase;
    const isNew = next?.resumed === undefined;
    this.#modelPhase = new ModelPhase({
      agent,
      request,
      parts,
      ledger,
      ctx,
      tools,
      toolPhase,
      output,
      publisher,
      isNew,
    });
    recorder?.run.onLeave(() => this.#stop());
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
      this.#modelPhase.close();
    }
    return observeLocally(this.#request, next.#agent, () => next.#settle(), next.#ledger.usage);
  }

  #handOver(takeover: Takeover): RunLoop {
    const { agent, isStart, resumed } = takeover;
    const { name, totals } = this.#agent;
    if (!isStart) countHandoff(this.#ctx);
    if (this.#modelPhase.isLive) countHandedOver(totals);
    const { turns: turn } = this.#transcript;
    if (!isStart && resumed === undefined)
      void this.#request.onEvent?.({ type: 'handoff', turn, from: name, to: agent.name });
    return new RunLoop(agent, this.#request, { ...takeover, parts: this.#parts, ctx: this.#ctx });
  }

  /** Releases the timer and the listener of the run. */
  #stop(): void {
    this.#modelPhase.close();
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
      const asked = await this.#modelPhase.turn();
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
        if (mayExecute && this.#agent.turnTools !== undefined) await this.#modelPhase.useToolsOfReplay(asked);
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
    const { hooks } = this.#modelPhase;
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
      if (transcript.lastText !== '') void this.#modelPhase.show({ kind: 'text', text: transcript.lastText });
      if (mark.status === 'completed') await this.#output?.readAgain(transcript.lastText);
      return mark.status;
    }
    if (openCalls.length > 0) {
      this.#toolPhase.handoff = handoff;
      if (refusal === undefined) {
        await this.#modelPhase.useToolsOfTurn();
        await this.#toolPhase.repeat(openCalls, transcript.turns);
      } else await this.#toolPhase.refuse(openCalls, transcript.turns, refusal);
      this.#request.signal?.throwIfAborted();
    }
    return this.#takeover();
  }

  /** @throws {TruncatedOutputError | EmptyAnswerError} if another turn would not help against an empty answer */
  #checkEmpty({ answer, isOverBudget, isOld }: AskedTurn, wasEmpty: boolean): void {
    if (isOld) return;
    // A repetition would spend the same tokens on reasoning again.
    if (answer.finishReason === 'length' && !isOverBudget) {
      throw new TruncatedOutputError(this.#agent.name, 'text', this.#modelPhase.maxTokens);
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
    const asked = await this.#modelPhase.turn(true);
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
    if (this.#modelPhase.isLive || this.#recorder === undefined)
      countRun(this.#agent.totals, status, this.#timer.elapsedMs);
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
      const { spendLimit } = this.#modelPhase;
      if (exhausted === 'spendLimits' && spendLimit !== undefined) result.spendLimit = spendLimit;
    }
    if (error !== undefined) result.error = error;
    // A run that completed has the data of its schema, and `#fail` alone passes an error.
    return result as SettledAgentRun;
  }
}
