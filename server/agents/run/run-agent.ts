import { setMaxListeners } from 'node:events';
import { messageOf, quote } from '../../errors.js';
import { reportAgents } from '../../hub/events/reported-agents.js';
import { AbortableWaits, abortable } from '../abortable.js';
import { type AgentContext, contextWithMeter, handlerContextOf, lineageOf } from '../agent/agent-context.js';
import { type AgentRunStatus, type SettledAgentRun, withHiddenMessages } from '../agent/run-result.js';
import { type AgentSpec, countRun, sourceOf } from '../agent-spec.js';
import { EmptyAnswerError, TruncatedOutputError } from '../errors.js';
import type { ResumedExchange } from '../memory/stored-exchange.js';
import type { ExchangeMark, Message, ToolDefinition, ToolResult } from '../model/message.js';
import { unreadableCallNote } from '../model/model-answer.js';
import { TypedOutput } from '../model/output-schema.js';
import type { TokenLedger } from '../model/token-ledger.js';
import type { CallSpending, TokenUsage } from '../model/token-usage.js';
import { replaySpending, startDescent } from '../multi-agent/delegation.js';
import { refusalReason } from '../tools/tool-executor.js';
import type { ToolRegistry } from '../tools/tool-registry.js';
import { ModelCaller, type PaidAnswer } from './model-caller.js';
import type { AnswerSource, AskedTurn, TurnAnswer } from './recorded-turn.js';
import { checkApprover, createRunScope, type RunRequest } from './run-request.js';
import { ToolPhase } from './tool-phase.js';
import { RunConversation, Transcript } from './transcript.js';
import { RunTimer, TurnRecorder } from './turn-recorder.js';

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
  if (request.hubCtx !== undefined) reportAgents(handlerContextOf(request.hubCtx), sourceOf(agent));
  return new RunLoop(agent, request).execute();
}

type End = Pick<ExchangeMark, 'status' | 'truncated'>;

/** Loop of model calls and tool calls of one run. */
class RunLoop implements AnswerSource {
  readonly #agent: AgentSpec;
  readonly #request: RunRequest;
  readonly #timer: RunTimer;
  readonly #waits: AbortableWaits;
  /** Present if the run is durable. */
  readonly #recorder: TurnRecorder | undefined;
  readonly #ledger: TokenLedger;
  readonly #ctx: AgentContext;
  readonly #tools: ToolRegistry;
  readonly #transcript: Transcript;
  /** Present if the agent has a memory. */
  readonly #conversation: RunConversation | undefined;
  readonly #toolPhase: ToolPhase;
  readonly #model: ModelCaller;
  /** Present if the agent has an `outputSchema`. */
  readonly #output: TypedOutput | undefined;
  readonly #onResult: ((result: ToolResult) => void) | undefined;
  #isTruncated = false;
  /** A model was called in this process. */
  #isLive = false;

  constructor(agent: AgentSpec, request: RunRequest) {
    const { place, idempotencyKey, signal, onEvent } = request;
    const timer = new RunTimer(agent.clock);
    const waits = new AbortableWaits(signal);
    const count = (spent: CallSpending): void => replaySpending(lineageOf(this.#ctx), spent);
    const recorder = place && new TurnRecorder(place, agent.name, timer, waits, count);
    const canResume = agent.memory !== undefined && idempotencyKey !== undefined;
    // Without a memory another attempt cannot know this one's calls, so its calls must have other keys.
    const ownKey = recorder !== undefined || canResume ? idempotencyKey : undefined;
    this.#agent = agent;
    this.#request = request;
    this.#timer = timer;
    this.#waits = waits;
    this.#recorder = recorder;
    const exchangeId = ownKey ?? recorder?.key ?? (request.hasNewId ? request.runId : crypto.randomUUID());
    const { ledger, ctx, approver } = createRunScope(agent, request, exchangeId);
    this.#ledger = ledger;
    this.#ctx = ctx;
    this.#tools = agent.tools();
    const { output, name, model } = agent;
    this.#output = output && new TypedOutput(output.schema, name, output.retries, model.maxTokens);
    const transcript = new Transcript(recorder !== undefined || canResume, () => ledger.usageOfAttempts, signal);
    this.#transcript = transcript;
    const { memory } = agent;
    if (memory !== undefined) {
      const own = recorder === undefined ? ctx : contextWithMeter(ctx, recorder.meterOfMemory());
      this.#conversation = new RunConversation({
        memory,
        agentName: name,
        request,
        exchangeId,
        transcript,
        ctx: own,
        recorder,
      });
    }
    this.#toolPhase = new ToolPhase({ agent, tools: this.#tools, transcript, ctx, waits, recorder, approver });
    const onText = onEvent && ((text: string) => onEvent({ type: 'text-delta', turn: transcript.turns, text }));
    this.#onResult = onEvent && ((toolResult) => onEvent({ type: 'tool-result', turn: transcript.turns, toolResult }));
    const onFailure = recorder && ((usage: TokenUsage) => recorder.failed(transcript.turns, usage));
    this.#model = new ModelCaller(agent, ctx, ledger, waits, onText, onFailure);
    recorder?.run.onLeave(() => this.#stop());
  }

  async execute(): Promise<SettledAgentRun> {
    let result: SettledAgentRun;
    try {
      const status = await this.#loop().finally(() => this.#recorder?.end());
      if (this.#conversation !== undefined) await this.#conversation.store();
      result = this.#end(status);
    } catch (thrown) {
      result = await this.#fail(thrown instanceof Error ? thrown : new Error(messageOf(thrown), { cause: thrown }));
    } finally {
      this.#stop();
    }
    if (this.#conversation !== undefined) await this.#conversation.release();
    this.#request.onEvent?.({ type: 'run-end', result: withHiddenMessages(result) });
    return result;
  }

  /** Releases the timer and the listener of the run. */
  #stop(): void {
    this.#model.close();
    this.#waits.close();
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
      // A repetition would spend the same tokens on reasoning again.
      if (isEmpty && answer.finishReason === 'length' && !asked.isOverBudget && !asked.isOld) {
        throw new TruncatedOutputError(this.#agent.name, 'text', this.#model.maxTokens);
      }
      if (isEmpty && wasEmpty && !asked.isOld) throw new EmptyAnswerError(this.#agent.model.model);
      wasEmpty = isEmpty;
      const status = await this.#take(asked, isEmpty);
      if (status !== undefined) return status;
    }
    return finalAnswerTurn && transcript.turns === maxIterations ? this.#answerFinally() : 'max_iterations';
  }

  async #begin(): Promise<ResumedExchange | undefined> {
    const { input, signal } = this.#request;
    const store = this.#conversation && (await this.#conversation.open());
    const isDurable = this.#recorder !== undefined;
    const resumed = await this.#transcript.begin(this.#agent.systemPrompt, input, store, isDurable);
    if (resumed !== undefined) {
      this.#ledger.resume(resumed.mark.usage);
      this.#toolPhase.resume(resumed.messages.flatMap(({ toolCalls }) => (toolCalls ? [toolCalls] : [])));
    }
    signal?.throwIfAborted();
    return resumed;
  }

  /** Makes a model call, or returns its recorded answer. `undefined` if it does not fit into the budget. */
  #ask(tools: ToolDefinition[]): Promise<AskedTurn | undefined> {
    return this.#recorder === undefined ? this.ask(tools) : this.#recorder.answer(this.#transcript.turns, tools, this);
  }

  get usage(): TokenUsage {
    return this.#ledger.usage;
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

  async ask(tools: ToolDefinition[]): Promise<TurnAnswer | undefined> {
    const transcript = this.#transcript;
    this.#isLive = true;
    const answer = await this.#model.call(transcript.messages, transcript.inputIndex, tools);
    if (answer === undefined) return undefined;
    const calls = transcript.distinct(answer.toolCalls);
    const found = this.#toolPhase.asksOf(calls);
    const asks = found instanceof Promise ? await found : found;
    return { answer, calls, asks, isOverBudget: this.#ledger.isExceeded, provider: this.#model.provider };
  }

  replay({ answer, calls, provider }: TurnAnswer, spent: TokenUsage): void {
    const transcript = this.#transcript;
    this.#ledger.replay(spent);
    this.#model.replay(answer, transcript.messages, provider);
    transcript.reserve(calls);
    if (answer.content !== '') {
      this.#request.onEvent?.({ type: 'text-delta', turn: transcript.turns, text: answer.content });
    }
  }

  /** Adds an answer and the results of its calls. Returns the status if the run ends with it. */
  async #take(asked: AskedTurn, isEmpty: boolean): Promise<AgentRunStatus | undefined> {
    const { answer, calls, asks, isOverBudget, isReplayed = false } = asked;
    const { content, usage, finishReason, unreadableCall, providerMetadata } = answer;
    const { onEvent, signal } = this.#request;
    const transcript = this.#transcript;
    const turn = transcript.turns;
    const isFinal = calls.length === 0 && unreadableCall === undefined && !isEmpty;
    const problem = isFinal && this.#output !== undefined ? await this.#output.read(content, finishReason) : undefined;
    const isEnd = isFinal && (problem === undefined || isOverBudget);
    const end = isEnd ? this.#endOf(isOverBudget ? 'token_budget_exceeded' : 'completed', answer) : undefined;
    if (content.trim() !== '' || calls.length > 0) {
      const message: Message =
        calls.length > 0 ? { role: 'assistant', content, toolCalls: calls } : { role: 'assistant', content };
      // It refers to calls by position.
      if (providerMetadata && calls.length === answer.toolCalls.length) message.providerMetadata = providerMetadata;
      const stored = transcript.add(message, end);
      if (stored !== undefined) await stored;
    }
    if (onEvent !== undefined) for (const toolCall of calls) onEvent({ type: 'tool-call', turn, toolCall });
    if (calls.length > 0) {
      const refusal = refusalReason(finishReason === 'length', isOverBudget);
      await this.#toolPhase.run({ turn, calls, asks, isReplayed }, refusal, this.#onResult);
    } else if (unreadableCall !== undefined) {
      transcript.addNote(unreadableCallNote(unreadableCall));
    } else if (problem !== undefined && 'note' in problem) transcript.addNote(problem.note);
    onEvent?.({ type: 'turn-end', turn, usage, finishReason });
    signal?.throwIfAborted();
    if (!isEnd && problem !== undefined && 'error' in problem) throw problem.error;
    return end?.status ?? (isOverBudget ? 'token_budget_exceeded' : undefined);
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
    const { cost } = this.#ledger.usage;
    const result = {
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
    // A run that completed has the data of its schema, and `#fail` alone passes an error.
    return result as SettledAgentRun;
  }
}
