import { quote } from '../../errors.js';
import { type AgentContext, createAgentContext, type Lineage, lineageOf, meterOf } from '../agent/agent-context.js';
import type { Approver } from '../approvals/approval.js';
import { delegateFrom } from '../delegation/delegate.js';
import { TokenLedger } from '../model/token-ledger.js';
import type { AgentSpec } from './agent-spec.js';
import { approverOf, type RunRequest } from './run-request.js';

/** Everything of a run that its delegates share. */
export interface RunScope {
  readonly ledger: TokenLedger;
  readonly ctx: AgentContext;
  readonly approver: Approver | undefined;
}

/** Creates the budget and the context of a run, below those of the run that delegates to it. */
export function createRunScope(agent: AgentSpec, request: RunRequest, exchangeId: string): RunScope {
  const { name: agentName, logger, maxDelegationDepth: maxDepth, maxDelegations: maxRuns } = agent;
  const { tokenBudget: tokens, costBudget: cost, prices } = agent;
  const { runId, payload, hubCtx, signal } = request;
  const parent = lineageOf(hubCtx);
  const approver = approverOf(request);
  const listeners = [agent.onTokenUsage, request.onTokenUsage].filter((listener) => listener !== undefined);
  const onListenerError = (err: unknown): void => {
    ctx.logger.error({ err }, `onTokenUsage of agent ${quote(agentName)} failed`);
  };
  const limits = { tokens, cost, prices };
  const ledger = new TokenLedger(limits, parent?.ledger, listeners, onListenerError, meterOf(hubCtx));
  if (parent !== undefined) ledger.countRuns(1);
  const lineage: Lineage = {
    chain: [...(parent?.chain ?? []), agentName],
    limits: parent?.limits ?? { maxDepth, maxRuns, runs: 0 },
    ledger,
    delegate: delegateFrom.bind(undefined, agent),
    exchangeId,
    approver,
  };
  const ctx = createAgentContext({ agentName, runId, lineage, payload, signal, hubCtx, logger });
  return { ledger, ctx, approver };
}
