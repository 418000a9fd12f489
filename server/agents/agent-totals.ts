import type { AgentRunStatus } from './run.js';
import { noUsage, type TokenUsage } from './token-usage.js';

/** What an agent has done in this process since it was created. */
export interface AgentTotals {
  /** Runs by how they ended. `aborted` are those that rejected with their signal's reason. */
  readonly runs: Record<AgentRunStatus | 'aborted', number>;
  /** Of its own model calls; those of delegates are theirs. */
  readonly tokenUsage: TokenUsage;
}

export function createTotals(): AgentTotals {
  return {
    runs: { completed: 0, failed: 0, max_iterations: 0, token_budget_exceeded: 0, aborted: 0 },
    tokenUsage: noUsage(),
  };
}
