import type { ResolvedRetry } from '../../hub/events/definition/retry-policy.js';
import type { Clock } from '../../transports/clock.js';
import type { Logger } from '../../transports/logger.js';
import { DurationSketch, durationBucket } from '../../transports/statistics/duration-sketch.js';
import type { AgentRunStatus } from '../agent/agent-run-result.js';
import type { AgentRegistry } from '../delegation/agent-registry.js';
import type { AgentMemory } from '../memory/agent-memory.js';
import type { ModelCandidate } from '../model/model-candidate.js';
import type { ModelOptions, ModelProvider } from '../model/model-provider.js';
import type { PriceList } from '../model/price.js';
import { noUsage, type TokenUsage } from '../model/token-usage.js';
import type { OutputSchema } from '../output/output-schema.js';
import type { ToolRegistry } from '../tools/tool-registry.js';

/** Validated {@link AgentConfig} with every default filled in. */
export interface AgentSpec {
  readonly name: string;
  readonly description: string | undefined;
  readonly systemPrompt: string;
  readonly provider: ModelProvider;
  readonly model: ModelOptions;
  /** Provider and model, and those that replace them after a failure. */
  readonly candidates: readonly [ModelCandidate, ...ModelCandidate[]];
  /** Schema of the answers, and the number of corrections per run. */
  readonly output: { readonly schema: OutputSchema; readonly retries: number } | undefined;
  /** Returns the agent's tools, with `delegate` if there is another agent to delegate to. */
  readonly tools: () => ToolRegistry;
  readonly memory: AgentMemory | undefined;
  readonly maxIterations: number;
  readonly finalAnswerTurn: boolean;
  readonly tokenBudget: number | undefined;
  readonly costBudget: number | undefined;
  readonly prices: PriceList | undefined;
  readonly retry: ResolvedRetry | undefined;
  readonly onTokenUsage: ((usage: TokenUsage) => void) | undefined;
  readonly registry: AgentRegistry | undefined;
  readonly maxDelegationDepth: number;
  readonly maxDelegations: number;
  readonly maxParallelToolCalls: number;
  readonly maxToolCalls: number;
  readonly maxToolResultChars: number;
  readonly contextTokens: number | undefined;
  /** Longest delay that a vendor can request: in `agent.run`, and before the next attempt at an event. */
  readonly maxRetryAfterMs: { readonly inProcess: number; readonly ofEvent: number };
  readonly logger: Logger | undefined;
  readonly maxRepeats: number;
  readonly clock: Clock;
  readonly totals: AgentTotals;
}

/** Counters of an agent in this process since its creation. */
export interface AgentTotals {
  /** Runs by status. `aborted` counts runs that rejected with their signal's reason. */
  readonly runs: Record<AgentRunStatus | 'aborted', number>;
  /** Tokens of the agent's own model calls, without those of delegates. */
  readonly tokenUsage: TokenUsage;
  /** Durations of the runs that ended, aborted ones excluded. */
  readonly durations: DurationSketch;
}

/** Counts a run that has ended. */
export function countRun(totals: AgentTotals, status: AgentRunStatus, durationMs: number): void {
  totals.runs[status]++;
  totals.durations.addBucket(durationBucket(durationMs), 1);
}

/** Returns counters that are all zero. */
export function createTotals(): AgentTotals {
  return {
    runs: { completed: 0, failed: 0, max_iterations: 0, token_budget_exceeded: 0, aborted: 0 },
    tokenUsage: noUsage(),
    durations: new DurationSketch(),
  };
}
