import { setMaxListeners } from 'node:events';
import { messageOf, quote } from '../../errors.js';
import type { HandlerCtx } from '../../hub/events/context.js';
import { abortable } from '../abortable.js';
import { createAgentContext, lineageOf } from '../agent/agent-context.js';
import type { AgentRunResult, AgentRunStatus } from '../agent/agent-run-result.js';
import type { AgentStreamEvent } from '../agent/agent-stream.js';
import { checkDescent, delegateFrom } from '../delegation/delegate.js';
import { EmptyAnswerError } from '../errors.js';
import type { ToolResult } from '../model/message.js';
import { TokenLedger } from '../model/token-ledger.js';
import type { TokenUsage } from '../model/token-usage.js';
import type { AgentSpec } from './agent-spec.js';
import { ModelCaller } from './model-caller.js';
import { ToolPhase } from './tool-phase.js';
import { Transcript } from './transcript.js';

/** Input and validated options of one run. */
export interface RunRequest {
  readonly input: string;
  readonly runId: string;
  readonly idempotencyKey?: string | undefined;
  readonly payload?: unknown;
  readonly hubCtx?: HandlerCtx | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onTokenUsage?: ((usage: TokenUsage) => void) | undefined;
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
 * @throws {DelegationCycleError | DelegationDepthError}
 */
export async function runAgent(agent: AgentSpec, request: RunRequest): Promise<AgentRunResult> {
  const { input, runId, idempotencyKey, payload, hubCtx, signal, onEvent } = request;
  signal?.throwIfAborted();
  // Every tool call and delegate adds a listener; the warning about a leak would be wrong.
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
          // It refers to calls by position.
          ...(providerMetadata && calls.length === answer.toolCalls.length && { providerMetadata }),
        });
      }
      for (const toolCall of calls) onEvent?.({ type: 'tool-call', turn, toolCall });
      const isOverBudget = ledger.left < 0;
      if (calls.length > 0) {
        await toolPhase.run(calls, refusalReason(finishReason === 'length', isOverBudget), onResult);
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
    // Not error.message, which need not be a string.
    const closed = transcript.close(`not executed: ${messageOf(error)}`).catch((unstored: unknown) => {
      ctx.logger.error({ err: unstored }, `agent ${quote(agent.name)} failed to store the end of run ${quote(runId)}`);
    });
    // Ends at an abort: the memory itself may hang.
    const isAborted = await abortable(closed, signal).then(
      () => signal?.aborted,
      () => true,
    );
    if (!isAborted) return end('failed', error);
    agent.totals.runs.aborted++;
    throw signal?.reason;
  }
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
