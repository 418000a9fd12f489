import type { AgentSpec } from './agent-config.js';
import type { AgentContext } from './agent-context.js';
import { lineageOf } from './agent-context.js';
import { DelegationCycleError, DelegationDepthError, NoRegistryError, UnknownAgentError } from './errors.js';
import type { AgentRunResult } from './run.js';

/**
 * Has another agent work on `input` as part of the run that `ctx` belongs to: it spends from the same
 * budget, heeds the same signal and carries on the `requestId`, under a run id of its own.
 */
export async function delegateFrom(
  { name: from, registry, maxDelegationDepth }: AgentSpec,
  ctx: AgentContext,
  agentName: string,
  input: string,
): Promise<AgentRunResult> {
  if (registry === undefined) throw new NoRegistryError(from);
  const chain = lineageOf(ctx)?.chain ?? [from];
  if (chain.includes(agentName)) throw new DelegationCycleError([...chain, agentName]);
  const delegate = registry.get(agentName);
  if (delegate === undefined) {
    const others = registry.list().map(({ name }) => name);
    throw new UnknownAgentError(
      agentName,
      others.filter((name) => name !== from),
    );
  }
  if (chain.length > maxDelegationDepth) throw new DelegationDepthError(agentName, maxDelegationDepth);
  return delegate.run(input, { hubCtx: ctx });
}
