import type { HandlerCtx, HandlerFunction } from '../hub/events/context.js';
import { withHandlerInfo } from '../hub/introspection/handler-info.js';
import type { Agent } from './agent.js';
import { introspectAgents } from './agent-introspection.js';
import { AgentRunError } from './errors.js';
import { inputOf } from './payload-input.js';
import type { AgentRunResult } from './run.js';
import type { ToolResult } from './tool.js';
import { toJsonText } from './tool-result-text.js';

/** See {@link Agent.asHandler}. */
export function toHandler(agent: Agent): HandlerFunction {
  return withHandlerInfo((ctx) => handleWith(agent, inputOf(ctx.payload, ['input']), ctx), {
    kind: 'agent',
    name: agent.name,
    agents: () => introspectAgents([agent]),
  });
}

/**
 * Has an agent work on `input` as the handling of an event or step, and returns what JSON can carry of the result.
 *
 * @throws {AgentRunError} where the run does not complete
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

/** Tools may return what JSON cannot carry; of what has no JSON form at all, the error says so. */
function jsonValue({ name, result, error }: ToolResult): unknown {
  if (error !== undefined) return null;
  return typeof result === 'string' ? result : JSON.parse(toJsonText(result, name));
}
