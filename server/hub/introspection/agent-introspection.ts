import type { TurnUsage } from '../events/agent-support/turn-facts.js';

/** Public settings of an agent: no keys, no prompts. */
export interface AgentSummary {
  readonly name: string;
  readonly model: string;
  readonly tools: readonly string[];
  readonly delegates: readonly string[];
}

/** Agent of a hub with its runs and token usage. */
export interface AgentIntrospection extends AgentSummary {
  readonly description?: string;
  readonly runs: Readonly<Record<string, number>>;
  /** Approvals that runs of the agent wait for: those of all events that it handles, and of the 10 newest runs per workflow. */
  readonly approvalsWaiting?: number;
  /** Tokens of the agent's own model calls. */
  readonly tokenUsage: TurnUsage;
}
