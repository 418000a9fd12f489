import { HubError, messageOf, quote } from '../../errors.js';
import type { AgentRunResult, AgentRunStatus } from './agent-run-result.js';

/** The run of an event or of a `delegate` call ended without completing. */
export class AgentRunError extends HubError {
  /** Result of the run, with its messages and tokens. */
  readonly result: AgentRunResult;
  /** `true` if a retry of the event is pointless, because the same input uses up the same turns or tokens again. */
  readonly fatal: boolean;

  constructor(result: AgentRunResult) {
    const { agentName, status, error } = result;
    const cause = error === undefined ? '' : `: ${messageOf(error)}`;
    super(
      'ERR_AGENT_RUN',
      `agent ${quote(agentName)} ended with status ${status}${cause}${remedies[status]}`,
      error && { cause: error },
    );
    this.result = result;
    this.fatal = status === 'max_iterations' || status === 'token_budget_exceeded';
  }
}

const remedies: Record<AgentRunStatus, string> = {
  completed: '',
  failed: '',
  max_iterations: '; raise maxIterations, or set finalAnswerTurn',
  token_budget_exceeded: '; raise tokenBudget, or shorten the task',
};
