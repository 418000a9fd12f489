import { HubError, isFatal, messageOf, quote } from '../../errors.js';
import { publicErrorInfo } from '../../redaction/public-error.js';
import { StuckLoopError } from '../errors.js';
import { ProviderError } from '../model/provider-error.js';
import type { AgentRunResult, AgentRunStatus } from './agent-run-result.js';

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
      `agent ${quote(agentName)} ended with status ${status}${why}${remedies[status]}`;
    super(
      'ERR_AGENT_RUN',
      messageWith(error === undefined ? '' : `: ${messageOf(error)}`),
      error && { cause: error, publicMessage: messageWith(`: ${publicErrorInfo(error).message}`) },
    );
    Object.defineProperty(this, 'result', { value: result });
    this.fatal = status === 'max_iterations' || status === 'token_budget_exceeded' || isFinal(error);
    if (!this.fatal && error instanceof ProviderError && error.retryAfterMs !== undefined) {
      this.retryAfterMs = error.retryAfterMs;
    }
  }
}

const remedies: Record<AgentRunStatus, string> = {
  completed: '',
  failed: '',
  max_iterations: '; raise maxIterations, or set finalAnswerTurn',
  token_budget_exceeded: '; raise tokenBudget, or shorten the task',
};

function isFinal(error: unknown): boolean {
  if (error instanceof ProviderError) return !error.retryable;
  return error instanceof StuckLoopError || isFatal(error);
}
