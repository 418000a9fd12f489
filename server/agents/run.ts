import { setMaxListeners } from 'node:events';
import { messageOf, quote } from '../errors.js';
import type { HandlerCtx } from '../hub/events/context.js';
import { abortable } from './abortable.js';
import type { AgentSpec } from './agent-config.js';
import { createAgentContext, lineageOf } from './agent-context.js';
import type { AgentStreamEvent } from './agent-stream.js';
import { checkDescent, delegateFrom } from './delegation.js';
import { EmptyAnswerError } from './errors.js';
import type { Message } from './message.js';
import { ModelCaller } from './model-call.js';
import { TokenLedger } from './token-ledger.js';
import type { TokenUsage } from './token-usage.js';
import type { ToolResult } from './tool.js';
import { ToolPhase } from './tool-phase.js';
import { Transcript } from './transcript.js';

/**
 * How a run ended. `completed`: with a final answer. `max_iterations`: all turns were used.
 * `token_budget_exceeded`: more was spent than `tokenBudget`, or the next call would not have fitted.
 * `failed`: see `error` of the result.
 */
export type AgentRunStatus = 'completed' | 'failed' | 'max_iterations' | 'token_budget_exceeded';

/** What a run came to. */
export interface AgentRunResult {
  agentName: string;
  /** The `requestId` that was given, or a random UUID. */
  runId: string;
  /** The final answer; of a run that did not complete, the last text there was. */
  output: string;
  /** The transcript: system prompt, messages from memory, input, answers and tool results. */
  messages: Message[];
  /** One for each tool call, turn by turn in the order of the calls. */
  toolCalls: ToolResult[];
  /** Of all model calls, delegates' included. */
  tokenUsage: TokenUsage;
  status: AgentRunStatus;
  /** Why the run failed; absent otherwise. */
  error?: Error;
}

/** One run of an agent, ready to start. */
export interface RunRequest {
  readonly input: string;
  readonly runId: string;
  readonly idempotencyKey?: string | undefined;
  readonly payload?: unknown;
  readonly hubCtx?: HandlerCtx | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onTokenUsage?: ((usage: TokenUsage) => void) | undefined;
  /** Set by who streams: the run then streams from the provider too. */
  readonly onEvent?: (event: AgentStreamEvent) => void;
}

/**
 * The reason-and-act loop: the model is asked, what it calls is run, and it is asked again, until it
 * answers with text alone.
 *
 * Resolves whatever model, tools, memory and delegates do. Rejects with the signal's reason, and where it
 * would lead back or too deep as part of another run.
 *
 * @throws {DelegationCycleError | DelegationDepthError}
 */
export async function runAgent(agent: AgentSpec, request: RunRequest): Promise<AgentRunResult> {
  const { input, runId, idempotencyKey, payload, hubCtx, signal, onEvent } = request;
  signal?.throwIfAborted();
  // Each of many tool calls, delegates and runs listens to it, which is no leak.
  if (signal instanceof EventTarget) setMaxListeners(0, signal);
  const parent = lineageOf(hubCtx);
  checkDescent(parent, agent.name);
  const listeners = [agent.onTokenUsage, request.onTokenUsage].filter((listener) => listener !== undefined);
  const ledger = new TokenLedger(agent.tokenBudget, parent?.ledger, listeners);
  const lineage = {
    chain: [...(parent?.chain ?? []), agent.name],
    maxDepth: agent.maxDelegationDepth,
    ledger,
    delegate: delegateFrom.bind(undefined, agent),
  };
  const ctx = createAgentContext({ agentName: agent.name, runId, lineage, payload, signal, hubCtx });
  const tools = agent.tools();
  const transcript = new Transcript(agent.name, runId, agent.memory, signal);
  const toolPhase = new ToolPhase(agent, tools, transcript, ctx, signal);
  let turn = 0;
  const onText = onEvent && ((text: string) => onEvent({ type: 'text-delta', turn, text }));
  const onResult = onEvent && ((toolResult: ToolResult) => onEvent({ type: 'tool-result', turn, toolResult }));
  const model = new ModelCaller(agent, runId, ledger, signal, onText);

  const end = (status: AgentRunStatus, error?: Error): AgentRunResult => {
    agent.totals.runs[status]++;
    const { messages, lastText: output } = transcript;
    const result: AgentRunResult = {
      agentName: agent.name,
      runId,
      output,
      messages,
      toolCalls: toolPhase.results,
      tokenUsage: { ...ledger.usage },
      status,
      ...(error && { error }),
    };
    onEvent?.({ type: 'run-end', result });
    return result;
  };

  try {
    await transcript.begin(agent.systemPrompt, input, idempotencyKey);
    signal?.throwIfAborted();
    if (transcript.isAnswered) {
      turn++;
      onText?.(transcript.lastText);
      return end('completed');
    }
    let wasEmpty = false;
    while (turn < agent.maxIterations) {
      turn++;
      const answer = await model.call(transcript.messages, tools.getDefinitions());
      if (answer === undefined) return end('token_budget_exceeded');
      const { content, usage, finishReason, unreadableCall, providerMetadata } = answer;
      const calls = transcript.distinct(answer.toolCalls);
      const isEmpty = calls.length === 0 && unreadableCall === undefined && content.trim() === '';
      if (isEmpty && wasEmpty) throw new EmptyAnswerError(agent.model.model);
      wasEmpty = isEmpty;
      if (content.trim() !== '' || calls.length > 0) {
        await transcript.add({
          role: 'assistant',
          content,
          ...(calls.length > 0 && { toolCalls: calls }),
          // It speaks of the calls by their place.
          ...(providerMetadata && calls.length === answer.toolCalls.length && { providerMetadata }),
        });
      }
      for (const toolCall of calls) onEvent?.({ type: 'tool-call', turn, toolCall });
      const isOverBudget = ledger.left < 0;
      if (calls.length > 0) {
        await toolPhase.run(calls, refusalOf(finishReason === 'length', isOverBudget), onResult);
      } else if (unreadableCall !== undefined) {
        await transcript.add({ role: 'user', content: unreadableCallNote(unreadableCall) });
      }
      onEvent?.({ type: 'turn-end', turn, usage, finishReason });
      signal?.throwIfAborted();
      if (isOverBudget) return end('token_budget_exceeded');
      if (calls.length === 0 && unreadableCall === undefined && !isEmpty) return end('completed');
    }
    if (agent.finalAnswerTurn) {
      turn++;
      const answer = await model.call(transcript.messages, []);
      if (answer === undefined) return end('token_budget_exceeded');
      if (answer.content.trim() !== '') await transcript.add({ role: 'assistant', content: answer.content });
      onEvent?.({ type: 'turn-end', turn, usage: answer.usage, finishReason: answer.finishReason });
      if (ledger.left < 0) return end('token_budget_exceeded');
    }
    return end('max_iterations');
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(messageOf(thrown), { cause: thrown });
    // Not error.message: anything may be thrown, and that need be no string.
    const closed = transcript.close(`not carried out: ${messageOf(error)}`).catch((unstored: unknown) => {
      ctx.logger.error({ err: unstored }, `agent ${quote(agent.name)} could not store the end of run ${quote(runId)}`);
    });
    // No longer than until the abort: it may be the memory that hangs.
    const isAborted = await abortable(closed, signal).then(
      () => signal?.aborted,
      () => true,
    );
    if (!isAborted) return end('failed', error);
    agent.totals.runs.aborted++;
    throw signal?.reason;
  }
}

function refusalOf(isCut: boolean, isOverBudget: boolean): string | undefined {
  if (isOverBudget) return 'not carried out: the token budget is used up';
  if (isCut) {
    return 'not carried out: the answer reached its token limit, so that its calls may be cut off; ask for less at once';
  }
  return undefined;
}

function unreadableCallNote(why: string): string {
  return `Your last tool call could not be read: ${why}. Make it again, with arguments that are valid JSON.`;
}
