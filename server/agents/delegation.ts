import type { AgentSpec } from './agent-config.js';
import type { AgentContext, Lineage } from './agent-context.js';
import { DelegationCycleError, DelegationDepthError, NoRegistryError, UnknownAgentError } from './errors.js';
import type { AgentRunResult } from './run.js';

/**
 * Has another agent work on `input` as part of the run that `ctx` belongs to: it spends from the same
 * budget, heeds the same signal and carries on the `requestId`, under a run id of its own.
 */
export async function delegateFrom(
  { name: from, registry }: AgentSpec,
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
 * Lets an agent run as part of another's run, by `delegate` or by the context that tool code handed on,
 * unless that leads back or too deep.
 *
 * @throws {DelegationCycleError | DelegationDepthError}
 */
export function checkDescent(parent: Lineage | undefined, agentName: string): void {
  if (parent === undefined) return;
  const { chain, maxDepth } = parent;
  if (chain.includes(agentName)) throw new DelegationCycleError([...chain, agentName]);
  if (chain.length > maxDepth) throw new DelegationDepthError(agentName, maxDepth);
}
