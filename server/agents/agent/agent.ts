import type { HandlerFunction } from '../../hub/events/context.js';
import type { ApprovalEvents } from '../approvals/approval.js';
import type { TokenUsage } from '../model/token-usage.js';
import type { AgentRunOptions } from './agent-run-options.js';
import type { AgentRunResult } from './agent-run-result.js';
import type { AgentStream } from './agent-stream.js';

/** A model with a system prompt and tools. `TData` is the output type of its `outputSchema`. */
export interface Agent<TData = unknown> {
  readonly name: string;
  readonly description: string | undefined;
  /**
   * Runs the agent on `input` until the model gives a final answer.
   *
   * Resolves with the result, whatever model, tools, memory or delegates do: see its `status`. Rejects with
   * {@link InvalidOptionError} if `input` is not a string or an option is wrong, with {@link DelegationCycleError},
   * {@link DelegationDepthError} or {@link DelegationLimitError} if the run of `hubCtx` must not delegate to this agent,
   * with {@link NoApproverError} if a tool needs approval and nothing decides, and with the signal's reason if the run
   * is aborted.
   */
  run(input: string, options?: AgentRunOptions): Promise<AgentRunResult<TData>>;
  /**
   * Runs the agent, and streams the run's events. The loop and `result` reject as `run` does.
   *
   * @throws {InvalidOptionError} if `input` is not a string or an option is wrong
   */
  stream(input: string, options?: AgentRunOptions): AgentStream<TData>;
  /**
   * Returns the agent as an event handler. Each answer of the model and each result of a tool is recorded: after a
   * crash, a deploy or a retry the run resumes at the turn that it had reached.
   *
   * The handler returns an {@link AgentHandlerResult}. It throws {@link AgentRunError} if the run does not complete,
   * and {@link RetryAfterError} with that error as its cause if the vendor requests a delay. An event is not retried if
   * the same input fails again: all turns or tokens are used up, the model repeats itself, or the vendor refuses the
   * call.
   *
   * @throws {InvalidOptionError}
   */
  asHandler(options?: AgentHandlerOptions): HandlerFunction<unknown, Promise<AgentHandlerResult<TData>>>;
}

/** Options of {@link Agent.asHandler}. */
export interface AgentHandlerOptions {
  /**
   * Returns the id of the conversation that the event continues, see {@link AgentRunOptions.conversationId}.
   * @default the key of the event, or of the run of a workflow; a new conversation without a key
   */
  conversation?: (payload: unknown) => string;
  /**
   * Returns the input. @default the payload if it is a string, else `payload.input` if that is a string, else the
   * payload's JSON
   */
  input?: (payload: unknown) => string;
  /**
   * Events that decide on calls of tools that need approval. The run is suspended until a decision comes, and holds no
   * process meanwhile. Required if the agent, or one that it can delegate to, has such tools. @default none
   */
  approvals?: ApprovalEvents;
}

/**
 * Value that a handler of {@link Agent.asHandler} returns: the payload of `onSuccess`. `TData` is the output type of the
 * agent's `outputSchema`.
 */
export interface AgentHandlerResult<TData = unknown> {
  agentName: string;
  runId: string;
  /** The final answer. */
  output: string;
  /** The answer as `outputSchema` returned it, which must be JSON. Absent for an agent without a schema. */
  data: TData;
  status: 'completed';
  /** `true` if the answer reached the token limit, so that its end is missing. */
  truncated?: true;
  /**
   * Number of characters at the end of the answer that `output` lacks, because the result would exceed
   * `maxPayloadBytes` of the hub. `output` then ends with a note. The record of the run has the whole answer.
   */
  omittedChars?: number;
  tokenUsage: TokenUsage;
  /**
   * The last 200 tool calls, without arguments and results. Errors are cut to 200 characters. Fewer calls if `output` is
   * cut, and they would take more than a quarter of the payload.
   */
  toolCalls: { name: string; error?: string; durationMs: number }[];
}

/** Returns `true` if `value` is an agent. Untyped code may pass anything. */
export function isAgent(value: unknown): value is Agent {
  if (typeof value !== 'object' || value === null) return false;
  const { name, run }: { [Key in keyof Agent]?: unknown } = value;
  return typeof name === 'string' && typeof run === 'function';
}
