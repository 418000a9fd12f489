import type { Message, ToolResult } from '../model/message.js';
import type { TokenUsage } from '../model/token-usage.js';

/**
 * Status of a run that ended. `completed`: the model gave a final answer. `max_iterations`: all turns were used.
 * `token_budget_exceeded`: the run spent more than `tokenBudget` or `costBudget`, or the next call did not fit. `failed`: see `error`
 * of the result.
 */
export type AgentRunStatus = 'completed' | 'failed' | 'max_iterations' | 'token_budget_exceeded';

/** Result of a run. `TData` is the output type of the agent's `outputSchema`. */
export interface AgentRunResult<TData = unknown> {
  agentName: string;
  /** `requestId` of the run options, or a random UUID. */
  runId: string;
  /** The final answer. If the run did not complete, the last text of the model. */
  output: string;
  /** The answer as `outputSchema` returned it. Present if there is a schema and the final answer matches it. */
  data?: TData;
  /** The transcript: system prompt, messages from memory, input, answers and tool results. */
  messages: Message[];
  /** One result per tool call, by turn and in the order of the calls. */
  toolCalls: ToolResult[];
  /** Tokens of all model calls, delegates included. */
  tokenUsage: TokenUsage;
  /** Cost of all model calls, delegates included, in the currency of `prices`. Absent if a price is unknown. */
  cost?: number;
  status: AgentRunStatus;
  /** `true` if the final answer reached the token limit, so that its end is missing. */
  truncated?: true;
  /** Reason of the failure. Present only if the status is `failed`. */
  error?: Error;
}
