import { HubError, isFatal, messageOf, quote } from '../../errors.js';
import { fullPublicInfo } from '../../redaction.js';
import { StuckLoopError } from '../errors.js';
import type { Message, ToolResult } from '../model/message.js';
import { ProviderError } from '../model/provider-error.js';
import type { BudgetName, ReachedSpendLimit } from '../model/token-ledger.js';
import type { TokenUsage } from '../model/token-usage.js';
import type { Source, VendorCall } from '../model/vendor-parts.js';

/**
 * Status of a run that ended. `completed`: the model gave a final answer. `max_iterations`: all turns were used.
 * `token_budget_exceeded`: the run spent more than `tokenBudget` or `costBudget`, or the next call did not fit, or a
 * limit of `spendLimits` left no room for it: see `budget` of the result. `failed`: see `error`.
 */
export type AgentRunStatus = 'completed' | 'failed' | 'max_iterations' | 'token_budget_exceeded';

/** Result of a run. An agent of `createAgent` returns a {@link SettledAgentRun}, whose status narrows its fields. */
export interface AgentRunResult<TData = unknown> {
  /** Agent that answered: the one that was run, or the last one that took the conversation over. */
  agentName: string;
  /** `requestId` of the run options, else the id of the event, else a random UUID. */
  runId: string;
  /** The final answer. If the run did not complete, the last text of the model. */
  output: string;
  /** The transcript: system prompt, messages from memory, input, answers and tool results. */
  messages: Message[];
  /** One result per tool call, by turn and in the order of the calls. */
  toolCalls: ToolResult[];
  /** Sources of the answers, each once. Absent if there are none. */
  sources?: Source[];
  /** Calls of the vendor's own tools, which it has run. Absent if there are none. */
  vendorCalls?: VendorCall[];
  /** Tokens of all model calls, delegates included. */
  tokenUsage: TokenUsage;
  /** Cost of all model calls, delegates included, in the currency of `prices`. Absent if a price is unknown. */
  cost?: number;
  status: AgentRunStatus;
  /** Budget that ended the run, if `status` is `token_budget_exceeded`: its own, or that of an agent that delegated to it. */
  budget?: BudgetName;
  /** Spending limit that ended the run, if `budget` is `spendLimits`. */
  spendLimit?: ReachedSpendLimit;
  /** `true` if the final answer reached the token limit, so that its end is missing. */
  truncated?: true;
  /** The answer as `outputSchema` returned it. */
  data?: TData;
  /** Reason of a failure. */
  error?: Error;
}

/** Result of a run that completed. */
export interface CompletedAgentRun<TData = unknown> extends AgentRunResult<TData> {
  status: 'completed';
  /** The answer as `outputSchema` returned it. Absent for an agent without a schema. */
  data: TData;
  error?: never;
}

/** Result of a run that failed. */
export interface FailedAgentRun<TData = unknown> extends AgentRunResult<TData> {
  status: 'failed';
  /** Reason of the failure. */
  error: Error;
  /** The last answer as `outputSchema` returned it, if it was valid. */
  data?: TData;
}

/** Result of a run that reached a limit. */
export interface LimitedAgentRun<TData = unknown> extends AgentRunResult<TData> {
  status: 'max_iterations' | 'token_budget_exceeded';
  /** The last answer as `outputSchema` returned it, if it was valid. */
  data?: TData;
  error?: never;
}

/**
 * Result of a run of an agent from `createAgent`. `TData` is the output type of the agent's `outputSchema`. With a
 * schema, `status === 'completed'` narrows the type of `data`; `status === 'failed'` narrows that of `error`.
 */
export type SettledAgentRun<TData = unknown> =
  | CompletedAgentRun<TData>
  | FailedAgentRun<TData>
  | LimitedAgentRun<TData>;

/** Returns the result without enumerable messages: who forwards events to a client must not send the system prompt. */
export function withHiddenMessages({ messages, ...result }: SettledAgentRun): SettledAgentRun {
  return Object.defineProperty({ ...result, messages }, 'messages', { value: messages, enumerable: false });
}

/** The run of an event or of a `delegate` call ended without completing. */
export class AgentRunError extends HubError {
  /** Result of the run, with its messages and tokens. Not enumerable, so that no logger writes the messages. */
  declare readonly result: AgentRunResult;
  /** `true` if a retry of the event is pointless, because the same input fails again. */
  readonly fatal: boolean;
  /** Delay that the vendor requests before the next attempt, in milliseconds. */
  declare readonly retryAfterMs?: number;

  constructor(result: AgentRunResult) {
    const { agentName, status, error } = result;
    const messageWith = (why: string): string =>
      `agent ${quote(agentName)} ended with status ${status}${why}${remedies[status](result)}`;
    super(
      'ERR_AGENT_RUN',
      messageWith(error === undefined ? '' : `: ${messageOf(error)}`),
      error && { cause: error, publicMessage: messageWith(`: ${fullPublicInfo(error).message}`) },
    );
    Object.defineProperty(this, 'result', { value: result });
    const retryAfterMs = retryDelayOf(result);
    const isLimited = status === 'max_iterations' || status === 'token_budget_exceeded';
    this.fatal = (isLimited && retryAfterMs === undefined) || isFinal(error);
    if (!this.fatal && retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
  }
}

const remedies: Record<AgentRunStatus, (result: AgentRunResult) => string> = {
  completed: () => '',
  failed: () => '',
  max_iterations: () => '; raise maxIterations, or set finalAnswerTurn',
  token_budget_exceeded: ({ budget = 'tokenBudget', spendLimit }) =>
    spendLimit === undefined ? `; raise ${budget}, or shorten the task` : remedyOf(spendLimit),
};

/** Returns the delay that a vendor requests, or after which a window of a spending limit has room. */
function retryDelayOf({ error, spendLimit }: AgentRunResult): number | undefined {
  if (spendLimit !== undefined) return spendLimit.retryAfterMs;
  return error instanceof ProviderError ? error.retryAfterMs : undefined;
}

/** Describes a limit without its key, which may name a person. */
function remedyOf({ agent, max, unit, perMs }: ReachedSpendLimit): string {
  return `: spendLimits of agent ${quote(agent)} allow ${max} ${unit} per ${perMs} ms`;
}

function isFinal(error: unknown): boolean {
  if (error instanceof ProviderError) return !error.retryable;
  return error instanceof StuckLoopError || isFatal(error);
}
