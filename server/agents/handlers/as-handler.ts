import type { HandlerCtx, HandlerFunction } from '../../hub/events/context.js';
import { withHandlerInfo } from '../../hub/introspection/handler-info.js';
import type { Agent } from '../agent/agent.js';
import { AgentRunError } from '../agent/agent-run-error.js';
import type { AgentRunResult } from '../agent/agent-run-result.js';
import type { ToolResult } from '../model/message.js';
import { toResultContent } from '../tools/tool-content.js';
import { introspectAgents } from './agent-introspection.js';
import { inputOf } from './payload-input.js';

/** Implements {@link Agent.asHandler}. */
export function toHandler(agent: Agent): HandlerFunction {
  return withHandlerInfo((ctx) => handleWith(agent, inputOf(ctx.payload, ['input']), ctx), {
    kind: 'agent',
    name: agent.name,
    agents: () => introspectAgents([agent]),
  });
}

/**
 * Runs an agent on `input` for an event or step, and returns the part of its result that has a JSON form.
 *
 * @throws {AgentRunError} if the run does not complete
 */
export async function handleWith(agent: Agent, input: string, ctx: HandlerCtx): Promise<AgentRunResult> {
  const { requestId, idempotencyKey } = ctx;
  const result = await agent.run(input, { requestId, idempotencyKey, hubCtx: ctx });
  if (result.status !== 'completed') throw new AgentRunError(result);
  return {
    ...result,
    toolCalls: result.toolCalls.map((call) => ({ ...call, result: jsonValue(call) })),
  };
}

/** Returns a tool's value as JSON carries it. A value without a JSON form has an error that says so. */
function jsonValue({ name, result, error }: ToolResult): unknown {
  if (error !== undefined) return null;
  return typeof result === 'string' ? result : JSON.parse(toResultContent(result, name));
}
