import type { Durations } from '../../../transports/statistics/stats.js';
import type { TurnUsage } from './turn-facts.js';

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
  /** Runs that ended since the start of the processes, by status. */
  readonly runs: Readonly<Record<string, number>>;
  /**
   * Runs that run now, of the events that the agent handles and of workflows whose steps are this agent alone. Runs in
   * other workflows do not count.
   */
  readonly active?: number;
  /** Runs that wait and hold no process, of the same events and workflows. */
  readonly suspended?: number;
  /**
   * Percentiles of the durations of its runs since the start of the processes: from the start of a run, in whichever
   * process, to its end, suspended time included. Aborted runs do not count. Absent before a run has ended.
   */
  readonly durationMs?: Durations;
  /**
   * Approvals that runs of the agent wait for. If several agents may wait in one workflow, its 1,000 runs with the oldest
   * approvals count.
   */
  readonly approvalsWaiting?: number;
  /** Tokens of the agent's own model calls. */
  readonly tokenUsage: TurnUsage;
}

/** Agent as a hub describes it to other hubs. */
export interface AgentDescription
  extends Omit<AgentIntrospection, 'durationMs' | 'approvalsWaiting' | 'active' | 'suspended'> {
  /** Sketch of the durations of its runs, as `DurationSketch` writes it. Absent before a run has ended. */
  readonly durations?: readonly number[];
}
