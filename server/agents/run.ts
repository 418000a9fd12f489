import { quote } from '../errors.js';
import type { HandlerCtx } from '../hub/context.js';
import type { AgentSpec } from './agent-config.js';
import { createAgentContext, lineageOf } from './agent-context.js';
import type { AgentStreamEvent } from './agent-stream.js';
import { delegateFrom } from './delegation.js';
import { EmptyAnswerError, StuckLoopError } from './errors.js';
import type { Message, ToolCall } from './message.js';
import { ModelCaller } from './model-call.js';
import { RepeatCounter } from './repeat-counter.js';
import { TokenLedger } from './token-ledger.js';
import type { TokenUsage } from './token-usage.js';
import type { ToolResult } from './tool.js';
import { ToolExecutor } from './tool-executor.js';
import { toErrorText } from './tool-result-text.js';
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
  readonly payload?: unknown;
  readonly hubCtx?: HandlerCtx | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onTokenUsage?: ((usage: TokenUsage) => void) | undefined;
  /** Set by who streams: the run then streams from the provider too. */
  readonly onEvent?: (event: AgentStreamEvent) => void;
}

const repeatsBeforeNote = 3;

/**
 * The reason-and-act loop: the model is asked, what it calls is run, and it is asked again, until it
 * answers with text alone.
 *
 * Resolves whatever model, tools, memory and delegates do; rejects with the signal's reason alone.
 */
export async function runAgent(agent: AgentSpec, request: RunRequest): Promise<AgentRunResult> {
  const { input, runId, payload, hubCtx, signal, onEvent } = request;
  signal?.throwIfAborted();
  const parent = lineageOf(hubCtx);
  const listeners = [agent.onTokenUsage, request.onTokenUsage].filter((listener) => listener !== undefined);
  const ledger = new TokenLedger(agent.tokenBudget, parent?.ledger, listeners);
  const lineage = {
    chain: [...(parent?.chain ?? []), agent.name],
    ledger,
    delegate: delegateFrom.bind(undefined, agent),
  };
  const ctx = createAgentContext({ agentName: agent.name, runId, lineage, payload, signal, hubCtx });
  const tools = agent.tools();
  const executor = new ToolExecutor(tools, { maxParallel: agent.maxParallelToolCalls, clock: agent.clock });
  const transcript = new Transcript(agent.name, runId, agent.memory);
  const repeats = new RepeatCounter();
  const toolCalls: ToolResult[] = [];
  let turn = 0;
  const onText = onEvent && ((text: string) => onEvent({ type: 'text-delta', turn, text }));
  const model = new ModelCaller(agent, ledger, signal, onText);

  const end = (status: AgentRunStatus, error?: Error): AgentRunResult => {
    agent.totals.runs[status]++;
    const { messages, lastText: output } = transcript;
    const result: AgentRunResult = {
      agentName: agent.name,
      runId,
      output,
      messages,
      toolCalls,
      tokenUsage: { ...ledger.usage },
      status,
      ...(error && { error }),
    };
    onEvent?.({ type: 'run-end', result });
    return result;
  };

  const runTools = async (calls: readonly ToolCall[], refusal: string | undefined): Promise<void> => {
    const contents: string[] = [];
    const record = (result: ToolResult, content: string, index: number): void => {
      contents[index] = content;
      onEvent?.({ type: 'tool-result', turn, toolResult: result });
    };
    const counts = repeats.count(calls);
    const stuck = calls.find((_, index) => (counts[index] ?? 0) >= agent.maxRepeats);
    const why = stuck === undefined ? refusal : 'not carried out: the same call was made too many times in a row';
    if (why === undefined) {
      toolCalls.push(...(await executor.executeAll(calls, ctx, signal, record)));
    } else {
      for (const [index, { id, name }] of calls.entries()) {
        const result = { toolCallId: id, name, result: null, error: why, durationMs: 0 };
        toolCalls.push(result);
        record(result, toErrorText(why), index);
      }
    }
    for (const [index, times] of counts.entries()) {
      if (times >= repeatsBeforeNote) contents[index] += repeatNote(times);
    }
    await transcript.answerCalls(contents);
    if (stuck !== undefined) throw new StuckLoopError(stuck.name, agent.maxRepeats);
  };

  try {
    await transcript.begin(agent.systemPrompt, input);
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
      if (calls.length > 0) await runTools(calls, refusalOf(finishReason === 'length', isOverBudget));
      else if (unreadableCall !== undefined) {
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
    const error = thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown });
    await transcript.close(`not carried out: ${error.message}`).catch((unstored: unknown) => {
      ctx.logger.error({ err: unstored }, `agent ${quote(agent.name)} could not store the end of run ${quote(runId)}`);
    });
    if (signal?.aborted) {
      agent.totals.runs.aborted++;
      throw signal.reason;
    }
    return end('failed', error);
  }
}

function refusalOf(isCut: boolean, isOverBudget: boolean): string | undefined {
  if (isOverBudget) return 'not carried out: the token budget is used up';
  if (isCut) {
    return 'not carried out: the answer reached its token limit, so that its calls may be cut off; ask for less at once';
  }
  return undefined;
}

function repeatNote(times: number): string {
  return `\n\n[This is call number ${times} in a row with these arguments. The result will not change: do something else, or answer.]`;
}

function unreadableCallNote(why: string): string {
  return `Your last tool call could not be read: ${why}. Make it again, with arguments that are valid JSON.`;
}
