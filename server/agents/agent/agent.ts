import type { HandlerFunction } from '../../hub/events/context.js';
import type { AgentRunOptions } from './agent-run-options.js';
import type { AgentRunResult } from './agent-run-result.js';
import type { AgentStream } from './agent-stream.js';

/** A model with a system prompt and tools. */
export interface Agent {
  readonly name: string;
  readonly description: string | undefined;
  /**
   * Runs the agent on `input` until the model gives a final answer.
   *
   * Resolves with the result, whatever model, tools, memory or delegates do: see its `status`. Rejects with
   * {@link InvalidOptionError} if `input` is not a string or an option is wrong, with {@link DelegationCycleError} or
   * {@link DelegationDepthError} if the run of `hubCtx` must not delegate to this agent, and with the signal's reason
   * if the run is aborted.
   */
  run(input: string, options?: AgentRunOptions): Promise<AgentRunResult>;
  /** Runs the agent, and streams the run's events. */
  stream(input: string, options?: AgentRunOptions): AgentStream;
  /**
   * Returns the agent as an event handler. The input is the payload if it is a string, else `payload.input` if that
   * is a string, else the payload's JSON. Events with the same `requestId` share a conversation. A retry resumes
   * the conversation, see {@link AgentRunOptions.idempotencyKey}.
   *
   * The handler returns the result, with the values of tools as JSON. It throws {@link AgentRunError} if the run does
   * not complete. An event that used up its turns or tokens is not retried.
   */
  asHandler(): HandlerFunction;
}

/** Returns `true` if `value` is an agent. Untyped code may pass anything. */
export function isAgent(value: unknown): value is Agent {
  if (typeof value !== 'object' || value === null) return false;
  const { name, run }: { [Key in keyof Agent]?: unknown } = value;
  return typeof name === 'string' && typeof run === 'function';
}
