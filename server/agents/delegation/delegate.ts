import type { AgentContext, Lineage } from '../agent/agent-context.js';
import type { AgentRunResult } from '../agent/agent-run-result.js';
import {
  DelegationCycleError,
  DelegationDepthError,
  DelegationLimitError,
  NoRegistryError,
  UnknownAgentError,
} from '../errors.js';
import type { CallSpending } from '../model/token-usage.js';
import type { AgentRegistry } from './agent-registry.js';

/** Agent that delegates. */
interface Delegator {
  readonly name: string;
  readonly registry: AgentRegistry | undefined;
}

/**
 * Runs another agent on `input` as part of the run of `ctx`: it shares budget, signal and `requestId`, and has its own
 * run id.
 */
export async function delegateFrom(
  { name: from, registry }: Delegator,
  ctx: AgentContext,
  agentName: string,
  input: string,
): Promise<AgentRunResult> {
  if (registry === undefined) throw new NoRegistryError(from);
  const delegate = registry.get(agentName);
  if (delegate === undefined) {
    const others = registry.list().map(({ name }) => name);
    throw new UnknownAgentError(
      agentName,
      others.filter((name) => name !== from),
    );
  }
  return delegate.run(input, { hubCtx: ctx });
}

/**
 * Checks that an agent may run as part of another agent's run, started by `delegate` or with the `hubCtx` of a tool.
 *
 * @throws {DelegationCycleError | DelegationDepthError | DelegationLimitError}
 */
export function checkDescent(parent: Lineage | undefined, agentName: string): void {
  if (parent === undefined) return;
  const { chain, limits } = parent;
  if (chain.includes(agentName)) throw new DelegationCycleError([...chain, agentName]);
  if (limits === undefined) return;
  if (chain.length > limits.maxDepth) throw new DelegationDepthError(agentName, limits.maxDepth);
  if (limits.runs >= limits.maxRuns) throw new DelegationLimitError(agentName, limits.maxRuns);
}

/**
 * Checks that an agent may run as part of another agent's run, and counts its run.
 *
 * @throws {DelegationCycleError | DelegationDepthError | DelegationLimitError}
 */
export function startDescent(parent: Lineage | undefined, agentName: string): void {
  checkDescent(parent, agentName);
  if (parent?.limits !== undefined) parent.limits.runs++;
}

/** Counts what an earlier delivery spent on a call of the run of `lineage`. */
export function replaySpending(lineage: Lineage | undefined, spent: CallSpending): void {
  if (lineage === undefined) return;
  const { ledger, limits } = lineage;
  ledger.replay(spent);
  if (spent.runs === undefined) return;
  ledger.countRuns(spent.runs);
  if (limits !== undefined) limits.runs += spent.runs;
}
