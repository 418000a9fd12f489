import { messageOf, quote } from '../../errors.js';
import { abortable } from '../abortable.js';
import { type AgentContext, createAgentContext, type Lineage, lineageOf } from '../agent/agent-context.js';
import type { AgentRunResult, AgentRunStatus } from '../agent/agent-run-result.js';
import { delegateFrom } from '../delegation/delegate.js';
import { EmptyAnswerError } from '../errors.js';
import type { ExchangeMark, ToolDefinition, ToolResult } from '../model/message.js';
import { TokenLedger } from '../model/token-ledger.js';
import { type TokenUsage, usageSince } from '../model/token-usage.js';
import { TypedOutput } from '../output/typed-output.js';
import type { ToolRegistry } from '../tools/tool-registry.js';
import type { AgentSpec } from './agent-spec.js';
import { ModelCaller, type PaidAnswer } from './model-caller.js';
import { openInRun } from './open-in-run.js';
import { approverOf, type RunRequest } from './run-request.js';
import { type ExchangeOptions, type ResumedExchange, StoredExchange } from './stored-exchange.js';
import { refusalReason, ToolPhase } from './tool-phase.js';
import { Transcript } from './transcript.js';
import { type TurnAnswer, TurnRecorder } from './turn-recorder.js';

type End = Pick<ExchangeMark, 'status' | 'truncated'>;

/** One run: the loop of model calls and tool calls. */
export class AgentRun {
  readonly #agent: AgentSpec;
  readonly #request: RunRequest;
  readonly #exchangeId: string;
  /** Present if the run is durable. */
  readonly #recorder: TurnRecorder | undefined;
  readonly #ledger: TokenLedger;
  readonly #ctx: AgentContext;
  readonly #tools: ToolRegistry;
  readonly #transcript: Transcript;
  readonly #toolPhase: ToolPhase;
  readonly #model: ModelCaller;
  /** Present if the agent has an `outputSchema`. */
  readonly #output: TypedOutput | undefined;
  readonly #onResult: ((result: ToolResult) => void) | undefined;
  #isTruncated = false;
  /** A model was called in this process. */
  #isLive = false;

  constructor(agent: AgentSpec, request: RunRequest) {
    const { runId, idempotencyKey, payload, hubCtx, signal, onEvent } = request;
    const parent = lineageOf(hubCtx);
    const listeners = [agent.onTokenUsage, request.onTokenUsage].filter((listener) => listener !== undefined);
    this.#agent = agent;
    this.#request = request;
    // Without a memory another attempt cannot know this one's calls, so its calls must have other keys.
    this.#recorder = request.place && new TurnRecorder(request.place, agent.name, signal);
    this.#exchangeId =
      this.#recorder === undefined
        ? agent.memory && idempotencyKey !== undefined
          ? idempotencyKey
          : crypto.randomUUID()
        : (idempotencyKey ?? this.#recorder.key);
    const { tokenBudget: tokens, costBudget: cost, prices } = agent;
    this.#ledger = new TokenLedger({ tokens, cost, prices }, parent?.ledger, listeners, (err) => {
      this.#ctx.logger.error({ err }, `onTokenUsage of agent ${quote(agent.name)} failed`);
    });
    const lineage: Lineage = {
      chain: [...(parent?.chain ?? []), agent.name],
      limits: parent?.limits ?? { maxDepth: agent.maxDelegationDepth, maxRuns: agent.maxDelegations, runs: 0 },
      ledger: this.#ledger,
      delegate: delegateFrom.bind(undefined, agent),
      exchangeId: this.#exchangeId,
      approver: approverOf(request),
    };
    const { name: agentName, logger } = agent;
    this.#ctx = createAgentContext({ agentName, runId, lineage, payload, signal, hubCtx, logger });
    this.#tools = agent.tools();
    this.#output = agent.output && new TypedOutput(agent.output.schema, agent.name, agent.output.retries);
    const isResumable = this.#recorder !== undefined || (agent.memory !== undefined && idempotencyKey !== undefined);
    this.#transcript = new Transcript(isResumable, () => this.#ledger.usageOfAttempts, signal);
    this.#toolPhase = new ToolPhase({
      agent,
      tools: this.#tools,
      transcript: this.#transcript,
      ctx: this.#ctx,
      signal,
      recorder: this.#recorder,
      approver: lineage.approver,
    });
    const onText = onEvent && ((text: string) => onEvent({ type: 'text-delta', turn: this.#transcript.turns, text }));
    this.#onResult =
      onEvent && ((toolResult) => onEvent({ type: 'tool-result', turn: this.#transcript.turns, toolResult }));
    this.#model = new ModelCaller(agent, this.#ctx, this.#ledger, signal, onText);
  }

  async execute(): Promise<AgentRunResult> {
    let result: AgentRunResult;
    try {
      const status = await this.#loop();
      if (this.#recorder !== undefined) await this.#storeConversation(this.#recorder);
      result = this.#end(status);
    } catch (thrown) {
      result = await this.#fail(thrown instanceof Error ? thrown : new Error(messageOf(thrown), { cause: thrown }));
    }
    if (this.#agent.memory !== undefined) await this.#release();
    this.#request.onEvent?.({ type: 'run-end', result: withHiddenMessages(result) });
    return result;
  }

  async #loop(): Promise<AgentRunStatus> {
    const { maxIterations, finalAnswerTurn } = this.#agent;
    const transcript = this.#transcript;
    const resumed = await this.#begin();
    if (resumed?.mark.status !== undefined) {
      this.#isTruncated = resumed.mark.truncated === true;
      if (transcript.lastText !== '') {
        this.#request.onEvent?.({ type: 'text-delta', turn: transcript.turns, text: transcript.lastText });
      }
      if (resumed.mark.status === 'completed') await this.#output?.readAgain(transcript.lastText);
      return resumed.mark.status;
    }
    if (resumed !== undefined && resumed.openCalls.length > 0) {
      await this.#toolPhase.repeat(resumed.openCalls, this.#onResult, transcript.turns);
      this.#request.signal?.throwIfAborted();
    }
    let wasEmpty = false;
    const tools = this.#tools.getDefinitions();
    while (transcript.turns < maxIterations) {
      transcript.turns++;
      const asked = await this.#ask(tools);
      if (asked === undefined) return 'token_budget_exceeded';
      const { answer, calls } = asked;
      const isEmpty = calls.length === 0 && answer.unreadableCall === undefined && answer.content.trim() === '';
      if (isEmpty && wasEmpty && !asked.isOld) throw new EmptyAnswerError(this.#agent.model.model);
      wasEmpty = isEmpty;
      const status = await this.#take(asked, isEmpty);
      if (status !== undefined) return status;
    }
    return finalAnswerTurn && transcript.turns === maxIterations ? this.#answerFinally() : 'max_iterations';
  }

  async #begin(): Promise<ResumedExchange | undefined> {
    const { memory, name, systemPrompt } = this.#agent;
    const { input, conversationId, hubCtx, signal } = this.#request;
    const recorder = this.#recorder;
    const store =
      memory &&
      (await this.#open({
        memory,
        agentName: name,
        conversationId: conversationId ?? crypto.randomUUID(),
        isShared: conversationId !== undefined,
        exchangeId: this.#exchangeId,
        omit: lineageOf(hubCtx)?.debateId,
        signal,
        ctx: this.#ctx,
      }));
    const resumed = await this.#transcript.begin(systemPrompt, input, store, recorder !== undefined);
    if (resumed !== undefined) {
      this.#ledger.resume(resumed.mark.usage);
      this.#toolPhase.resume(resumed.messages.flatMap(({ toolCalls }) => (toolCalls ? [toolCalls] : [])));
    }
    signal?.throwIfAborted();
    return resumed;
  }

  /** Opens the conversation, unless a durable run has stored its part of it already. */
  async #open(options: ExchangeOptions): Promise<StoredExchange | undefined> {
    const recorder = this.#recorder;
    if (recorder === undefined) return StoredExchange.open(options);
    if (recorder.isConversationStored) return undefined;
    const store = await openInRun(recorder.run, options);
    recorder.run.onLeave(() => void this.#release());
    return store;
  }

  /** Makes a model call, or returns its recorded answer. `undefined` if it does not fit into the budget. */
  async #ask(tools: ToolDefinition[]): Promise<(TurnAnswer & { readonly isOld?: boolean }) | undefined> {
    const transcript = this.#transcript;
    const ledger = this.#ledger;
    const ask = async (): Promise<TurnAnswer | undefined> => {
      this.#isLive = true;
      const answer = await this.#model.call(transcript.messages, transcript.inputIndex, tools);
      if (answer === undefined) return undefined;
      const calls = transcript.distinct(answer.toolCalls);
      const asks = this.#toolPhase.asksOf(calls);
      return { answer, calls, asks: asks instanceof Promise ? await asks : asks, isOverBudget: ledger.isExceeded };
    };
    if (this.#recorder === undefined) return ask();
    const before = { ...ledger.usage };
    const spent = (): TokenUsage => usageSince(ledger.usage, before);
    const isTool = (name: string): boolean => this.#tools.get(name) !== undefined;
    const turn = await this.#recorder.answer(transcript.turns, ask, spent, isTool, () => this.#model.name);
    if (turn === undefined || turn.isNew) return turn?.recorded;
    const { recorded } = turn;
    ledger.replay(recorded.spent);
    this.#model.replay(recorded.answer, transcript.messages);
    transcript.reserve(recorded.calls);
    const { content } = recorded.answer;
    if (content !== '') this.#request.onEvent?.({ type: 'text-delta', turn: transcript.turns, text: content });
    return { ...recorded, isOld: !this.#recorder.recordsFailures };
  }

  /** Passes the messages of a durable run to the memory. */
  async #storeConversation(recorder: TurnRecorder): Promise<void> {
    if (this.#agent.memory !== undefined) await recorder.storeConversation(() => this.#transcript.flush());
  }

  /** Adds an answer and the results of its calls. Returns the status if the run ends with it. */
  async #take(
    { answer, calls, asks, isOverBudget }: TurnAnswer,
    isEmpty: boolean,
  ): Promise<AgentRunStatus | undefined> {
    const { content, usage, finishReason, unreadableCall, providerMetadata } = answer;
    const { onEvent, signal } = this.#request;
    const transcript = this.#transcript;
    const turn = transcript.turns;
    const isFinal = calls.length === 0 && unreadableCall === undefined && !isEmpty;
    const problem = isFinal && this.#output !== undefined ? await this.#output.read(content, finishReason) : undefined;
    const isEnd = isFinal && (problem === undefined || isOverBudget);
    const end: End = isEnd ? this.#endOf(isOverBudget ? 'token_budget_exceeded' : 'completed', answer) : {};
    if (content.trim() !== '' || calls.length > 0) {
      const message = {
        role: 'assistant' as const,
        content,
        ...(calls.length > 0 && { toolCalls: calls }),
        // It refers to calls by position.
        ...(providerMetadata && calls.length === answer.toolCalls.length && { providerMetadata }),
      };
      const stored = transcript.add(message, end);
      if (stored !== undefined) await stored;
    }
    for (const toolCall of calls) onEvent?.({ type: 'tool-call', turn, toolCall });
    if (calls.length > 0) {
      const refusal = refusalReason(finishReason === 'length', isOverBudget);
      await this.#toolPhase.run({ turn, calls, asks }, refusal, this.#onResult);
    } else if (unreadableCall !== undefined) {
      transcript.addNote(unreadableCallNote(unreadableCall));
    } else if (problem !== undefined && 'note' in problem) transcript.addNote(problem.note);
    onEvent?.({ type: 'turn-end', turn, usage, finishReason });
    signal?.throwIfAborted();
    if (!isEnd && problem !== undefined && 'error' in problem) throw problem.error;
    return end.status ?? (isOverBudget ? 'token_budget_exceeded' : undefined);
  }

  /** Makes one more call without tools. */
  async #answerFinally(): Promise<AgentRunStatus> {
    const transcript = this.#transcript;
    transcript.turns++;
    const asked = await this.#ask([]);
    if (asked === undefined) return 'token_budget_exceeded';
    const { answer, isOverBudget } = asked;
    const { content, usage, finishReason } = answer;
    await this.#output?.read(content, finishReason);
    const status = isOverBudget ? 'token_budget_exceeded' : 'max_iterations';
    if (content.trim() !== '') await transcript.add({ role: 'assistant', content }, this.#endOf(status, answer));
    this.#request.onEvent?.({ type: 'turn-end', turn: transcript.turns, usage, finishReason });
    return status;
  }

  #endOf(status: Exclude<AgentRunStatus, 'failed'>, { finishReason }: PaidAnswer): End {
    this.#isTruncated = finishReason === 'length';
    return { status, ...(this.#isTruncated && { truncated: true }) };
  }

  async #fail(error: Error): Promise<AgentRunResult> {
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
    void this.#release();
    throw signal?.reason;
  }

  async #close(reason: string): Promise<void> {
    await this.#transcript.close(reason);
    const recorder = this.#recorder;
    if (recorder === undefined || this.#agent.memory === undefined || this.#request.signal?.aborted) return;
    // The next attempt replays the run, and adds what follows. The function of a workflow goes on, and may not repeat it.
    if (recorder.recordsFailures) await this.#storeConversation(recorder);
    else await recorder.run.hold(() => this.#transcript.flush());
  }

  async #release(): Promise<void> {
    try {
      await this.#transcript.release();
    } catch (err) {
      this.#ctx.logger.warn({ err }, `agent ${quote(this.#agent.name)} could not release its conversation at once`);
    }
  }

  #end(status: AgentRunStatus, error?: Error): AgentRunResult {
    // What only replays its record was counted when it ended.
    if (this.#isLive || this.#recorder === undefined) this.#agent.totals.runs[status]++;
    const { messages, lastText: output } = this.#transcript;
    const data = this.#output?.data;
    const { cost } = this.#ledger.usage;
    return {
      agentName: this.#agent.name,
      runId: this.#request.runId,
      output,
      ...(data !== undefined && { data }),
      messages,
      toolCalls: this.#toolPhase.results,
      tokenUsage: { ...this.#ledger.usage },
      ...(cost !== undefined && { cost }),
      status,
      ...(this.#isTruncated && { truncated: true }),
      ...(error && { error }),
    };
  }
}

/** Returns the result without enumerable messages: who forwards events to a client must not send the system prompt. */
function withHiddenMessages({ messages, ...result }: AgentRunResult): AgentRunResult {
  return Object.defineProperty({ ...result, messages }, 'messages', { value: messages, enumerable: false });
}

function unreadableCallNote(reason: string): string {
  return `Your last tool call could not be read: ${reason}. Repeat it with arguments that are valid JSON.`;
}
