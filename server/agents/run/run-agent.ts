import { setMaxListeners } from 'node:events';
import { messageOf, quote } from '../../errors.js';
import type { HandlerCtx } from '../../hub/events/context.js';
import { reportAgents } from '../../hub/introspection/reported-agents.js';
import { abortable } from '../abortable.js';
import {
  type AgentContext,
  createAgentContext,
  handlerContextOf,
  type Lineage,
  lineageOf,
} from '../agent/agent-context.js';
import type { AgentRunResult, AgentRunStatus } from '../agent/agent-run-result.js';
import type { AgentStreamEvent } from '../agent/agent-stream.js';
import { delegateFrom, startDescent } from '../delegation/delegate.js';
import { EmptyAnswerError } from '../errors.js';
import { sourceOf } from '../handlers/agent-introspection.js';
import type { ExchangeMark, ToolCall, ToolResult } from '../model/message.js';
import { TokenLedger } from '../model/token-ledger.js';
import type { TokenUsage } from '../model/token-usage.js';
import { TypedOutput } from '../output/typed-output.js';
import type { ToolRegistry } from '../tools/tool-registry.js';
import type { AgentSpec } from './agent-spec.js';
import { ModelCaller, type PaidAnswer } from './model-caller.js';
import { type ResumedExchange, StoredExchange } from './stored-exchange.js';
import { ToolPhase } from './tool-phase.js';
import { Transcript } from './transcript.js';

/** Input and validated options of one run. */
export interface RunRequest {
  readonly input: string;
  readonly runId: string;
  /** Absent if no other run can know the conversation. */
  readonly conversationId: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly payload: unknown;
  readonly hubCtx: HandlerCtx | undefined;
  readonly signal: AbortSignal | undefined;
  readonly onTokenUsage: ((usage: TokenUsage) => void) | undefined;
  /** Present if the run is streamed. The provider is then called with `chatStream`. */
  readonly onEvent?: (event: AgentStreamEvent) => void;
}

/**
 * Runs the reason-and-act loop: calls the model, executes the tool calls that it requests, and repeats until the model
 * answers with text only.
 *
 * Resolves whatever model, tools, memory and delegates do. Rejects with the signal's reason, and if the run of
 * `hubCtx` must not delegate to this agent.
 *
 * @throws {DelegationCycleError | DelegationDepthError | DelegationLimitError}
 */
export async function runAgent(agent: AgentSpec, request: RunRequest): Promise<AgentRunResult> {
  const { signal } = request;
  signal?.throwIfAborted();
  // Every tool call and delegate adds a listener; the warning about a leak would be wrong.
  if (signal instanceof EventTarget) setMaxListeners(0, signal);
  startDescent(lineageOf(request.hubCtx), agent.name);
  if (request.hubCtx !== undefined) reportAgents(handlerContextOf(request.hubCtx), sourceOf(agent));
  return new AgentRun(agent, request).execute();
}

type End = Pick<ExchangeMark, 'status' | 'truncated'>;

class AgentRun {
  readonly #agent: AgentSpec;
  readonly #request: RunRequest;
  readonly #exchangeId: string;
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

  constructor(agent: AgentSpec, request: RunRequest) {
    const { runId, idempotencyKey, payload, hubCtx, signal, onEvent } = request;
    const parent = lineageOf(hubCtx);
    const listeners = [agent.onTokenUsage, request.onTokenUsage].filter((listener) => listener !== undefined);
    this.#agent = agent;
    this.#request = request;
    // Without a memory another attempt cannot know this one's calls, so its calls must have other keys.
    this.#exchangeId = agent.memory && idempotencyKey !== undefined ? idempotencyKey : crypto.randomUUID();
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
    };
    const { name: agentName, logger } = agent;
    this.#ctx = createAgentContext({ agentName, runId, lineage, payload, signal, hubCtx, logger });
    this.#tools = agent.tools();
    this.#output = agent.output && new TypedOutput(agent.output.schema, agent.name, agent.output.retries);
    const isResumable = agent.memory !== undefined && idempotencyKey !== undefined;
    this.#transcript = new Transcript(isResumable, () => this.#ledger.usageOfAttempts, signal);
    this.#toolPhase = new ToolPhase(agent, this.#tools, this.#transcript, this.#ctx, signal);
    const onText = onEvent && ((text: string) => onEvent({ type: 'text-delta', turn: this.#transcript.turns, text }));
    this.#onResult =
      onEvent && ((toolResult) => onEvent({ type: 'tool-result', turn: this.#transcript.turns, toolResult }));
    this.#model = new ModelCaller(agent, this.#ctx, this.#ledger, signal, onText);
  }

  async execute(): Promise<AgentRunResult> {
    let result: AgentRunResult;
    try {
      result = this.#end(await this.#loop());
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
    while (transcript.turns < maxIterations) {
      transcript.turns++;
      const answer = await this.#model.call(transcript.messages, transcript.inputIndex, this.#tools.getDefinitions());
      if (answer === undefined) return 'token_budget_exceeded';
      const calls = transcript.distinct(answer.toolCalls);
      const isEmpty = calls.length === 0 && answer.unreadableCall === undefined && answer.content.trim() === '';
      if (isEmpty && wasEmpty) throw new EmptyAnswerError(this.#agent.model.model);
      wasEmpty = isEmpty;
      const status = await this.#take(answer, calls, isEmpty);
      if (status !== undefined) return status;
    }
    return finalAnswerTurn && transcript.turns === maxIterations ? this.#answerFinally() : 'max_iterations';
  }

  async #begin(): Promise<ResumedExchange | undefined> {
    const { memory, name, systemPrompt } = this.#agent;
    const { input, conversationId, hubCtx, signal } = this.#request;
    const store =
      memory &&
      (await StoredExchange.open({
        memory,
        agentName: name,
        conversationId: conversationId ?? crypto.randomUUID(),
        isShared: conversationId !== undefined,
        exchangeId: this.#exchangeId,
        omit: lineageOf(hubCtx)?.debateId,
        signal,
        ctx: this.#ctx,
      }));
    const resumed = await this.#transcript.begin(systemPrompt, input, store);
    if (resumed !== undefined) {
      this.#ledger.resume(resumed.mark.usage);
      this.#toolPhase.resume(resumed.messages.flatMap(({ toolCalls }) => (toolCalls ? [toolCalls] : [])));
    }
    signal?.throwIfAborted();
    return resumed;
  }

  /** Adds an answer and the results of its calls. Returns the status if the run ends with it. */
  async #take(answer: PaidAnswer, calls: ToolCall[], isEmpty: boolean): Promise<AgentRunStatus | undefined> {
    const { content, usage, finishReason, unreadableCall, providerMetadata } = answer;
    const { onEvent, signal } = this.#request;
    const transcript = this.#transcript;
    const turn = transcript.turns;
    const isOverBudget = this.#ledger.isExceeded;
    const isFinal = calls.length === 0 && unreadableCall === undefined && !isEmpty;
    const problem = isFinal ? await this.#output?.read(content, finishReason) : undefined;
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
      await transcript.add(message, end);
    }
    for (const toolCall of calls) onEvent?.({ type: 'tool-call', turn, toolCall });
    if (calls.length > 0) {
      const refusal = refusalReason(finishReason === 'length', isOverBudget);
      await this.#toolPhase.run(calls, refusal, this.#onResult, turn);
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
    const answer = await this.#model.call(transcript.messages, transcript.inputIndex, []);
    if (answer === undefined) return 'token_budget_exceeded';
    const { content, usage, finishReason } = answer;
    await this.#output?.read(content, finishReason);
    const status = this.#ledger.isExceeded ? 'token_budget_exceeded' : 'max_iterations';
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
    const closed = this.#transcript.close(`not executed: ${messageOf(error)}`).catch((err: unknown) => {
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

  async #release(): Promise<void> {
    try {
      await this.#transcript.release();
    } catch (err) {
      this.#ctx.logger.warn({ err }, `agent ${quote(this.#agent.name)} could not release its conversation at once`);
    }
  }

  #end(status: AgentRunStatus, error?: Error): AgentRunResult {
    this.#agent.totals.runs[status]++;
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

function refusalReason(isTruncated: boolean, isOverBudget: boolean): string | undefined {
  if (isOverBudget) return 'not executed: the token budget is used up';
  if (isTruncated) {
    return 'not executed: the answer reached its token limit, so its calls may be incomplete; request fewer calls at once';
  }
  return undefined;
}

function unreadableCallNote(reason: string): string {
  return `Your last tool call could not be read: ${reason}. Repeat it with arguments that are valid JSON.`;
}
