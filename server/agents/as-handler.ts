import type { HandlerFunction } from '../hub/context.js';
import { withHandlerInfo } from '../hub/handler-info.js';
import type { Agent } from './agent.js';
import { introspectAgents } from './agent-introspection.js';
import { AgentRunError } from './errors.js';
import type { AgentRunResult } from './run.js';
import { toJsonText } from './tool-result-text.js';

/** See {@link Agent.asHandler}. */
export function toHandler(agent: Agent): HandlerFunction {
  const handler: HandlerFunction = async (ctx) => {
    const result = await agent.run(inputOf(ctx.payload), { requestId: ctx.requestId, hubCtx: ctx });
    if (result.status !== 'completed') throw new AgentRunError(result);
    return toJson(result);
  };
  return withHandlerInfo(handler, { kind: 'agent', agents: () => introspectAgents(agent) });
}

function inputOf(payload: unknown): string {
  if (typeof payload === 'string') return payload;
  const input = (payload as { input?: unknown } | null | undefined)?.input;
  return typeof input === 'string' ? input : (JSON.stringify(payload) ?? 'null');
}

/** Tools may return what JSON cannot carry, and the result becomes the payload of `onSuccess`. */
function toJson(result: AgentRunResult): AgentRunResult {
  return {
    ...result,
    toolCalls: result.toolCalls.map((call) => ({ ...call, result: jsonValue(call.result, call.name) })),
  };
}

function jsonValue(value: unknown, toolName: string): unknown {
  return typeof value === 'string' ? value : JSON.parse(toJsonText(value, toolName));
}
