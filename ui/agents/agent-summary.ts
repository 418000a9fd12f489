import type { AgentOverview } from '../../server/dashboard/protocol.js';
import { formatCount, UNKNOWN } from '../format/count.js';

/** Runs of an agent since the start. */
export interface RunSummary {
  readonly total: number;
  /** Failed runs divided by all runs; `null` before the first one. */
  readonly failureRatio: number | null;
  /** Numbers of runs with another status than completed, those that have not ended first, in words. */
  readonly exceptions: readonly { readonly label: string; readonly count: number }[];
}

/** Summarizes the numbers of runs by status. */
export function summarizeRuns({ runs, active = 0, suspended = 0 }: AgentOverview): RunSummary {
  const entries = Object.keys(runs).map((status) => ({ status, count: runs[status] ?? 0 }));
  const total = entries.reduce((sum, { count }) => sum + count, 0);
  return {
    total,
    failureRatio: total === 0 ? null : (runs['failed'] ?? 0) / total,
    exceptions: [{ status: 'running', count: active }, { status: 'suspended', count: suspended }, ...entries]
      .filter(({ status, count }) => status !== 'completed' && count > 0)
      .map(({ status, count }) => ({ label: status.replaceAll('_', ' '), count })),
  };
}

/** Formats the average number of tokens per run. */
export function averageTokens(tokens: number, runs: number): string {
  return runs === 0 ? UNKNOWN : formatCount(Math.round(tokens / runs));
}
