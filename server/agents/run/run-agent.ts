import { setMaxListeners } from 'node:events';
import { reportAgents } from '../../hub/events/agent-support/reported-agents.js';
import { handlerContextOf, lineageOf } from '../agent/agent-context.js';
import type { AgentRunResult } from '../agent/agent-run-result.js';
import { startDescent } from '../delegation/delegate.js';
import { sourceOf } from '../handlers/agent-introspection.js';
import { AgentRun } from './agent-run.js';
import type { AgentSpec } from './agent-spec.js';
import { checkApprover, type RunRequest } from './run-request.js';

/**
 * Runs the reason-and-act loop: calls the model, executes the tool calls that it requests, and repeats until the model
 * answers with text only.
 *
 * Resolves whatever model, tools, memory and delegates do. Rejects with the signal's reason, and if the run of
 * `hubCtx` must not delegate to this agent.
 *
 * @throws {DelegationCycleError | DelegationDepthError | DelegationLimitError}
 */
export async function runAgent(agent: AgentSpec, request: RunRequest): Promise<AgentRunResult> {
  const { signal } = request;
  signal?.throwIfAborted();
  // Every tool call and delegate adds a listener; the warning about a leak would be wrong.
  if (signal instanceof EventTarget) setMaxListeners(0, signal);
  startDescent(lineageOf(request.hubCtx), agent.name);
  checkApprover(agent, request);
  if (request.hubCtx !== undefined) reportAgents(handlerContextOf(request.hubCtx), sourceOf(agent));
  return new AgentRun(agent, request).execute();
}
