import { InvalidOptionError, isFatal, messageOf, quote, RetryAfterError } from '../errors.js';
import type { HandlerCtx, HandlerFunction } from '../hub/events/context.js';
import { durablePlaceOf } from '../hub/events/durable-place.js';
import type { EventRef } from '../hub/events/emit.js';
import type { RegisteredEvent } from '../hub/events/event.js';
import { withHandlerInfo } from '../hub/events/handler-info.js';
import { OptionChecker } from '../options.js';
import type { Agent, AgentHandlerOptions, AgentHandlerResult } from './agent/agent.js';
import { type ApprovalEvents, checkApprovalOptions } from './agent/approval.js';
import { AgentRunError, type AgentRunResult } from './agent/run-result.js';
import { type AgentSpec, introspectAgents, reachableSpecs, specOf } from './agent-spec.js';
import { NoApproverError } from './errors.js';
import { shortenableResult } from './shorten-result.js';

const maxReportedCalls = 200;
const maxReportedChars = 200;

/** Implements {@link Agent.asHandler}. @throws {InvalidOptionError} */
export function toHandler<TData>(
  agent: Agent<TData>,
  options: AgentHandlerOptions,
): HandlerFunction<unknown, Promise<AgentHandlerResult<TData>>> {
  const owner = `asHandler of agent ${quote(agent.name)}`;
  const check = new OptionChecker(options, ['conversation', 'input', 'approvals'], owner);
  const { conversation, input = (payload: unknown) => inputOf(payload, ['input']) } = options;
  check.function('conversation', conversation);
  check.function('input', input);
  const { approvals } = options;
  checkApprovalOptions(approvals, owner);
  const textOf = (read: (payload: unknown) => string, name: string, payload: unknown): string => {
    const text: unknown = read(payload);
    if (typeof text !== 'string')
      throw new InvalidOptionError(`the result of ${name} of ${owner}`, 'a string', typeof text);
    return text;
  };
  const handler = async (ctx: HandlerCtx): Promise<AgentHandlerResult<TData>> => {
    // Events of one key run one after another, as the exchanges of a conversation must.
    const conversationId =
      conversation === undefined ? durablePlaceOf(ctx)?.run.turnKey : textOf(conversation, 'conversation', ctx.payload);
    return handleWith(agent, textOf(input, 'input', ctx.payload), ctx, { conversationId, approvals });
  };
  return withHandlerInfo(handler, {
    kind: 'agent',
    name: agent.name,
    isDurable: true,
    agents: () => introspectAgents([agent]),
    check: (events) => checkApprovers(reachableSpecs([agent]), approvals, owner, events),
  });
}

interface HandlingOptions {
  readonly conversationId?: string | undefined;
  readonly approvals?: ApprovalEvents | undefined;
}

/**
 * Runs an agent on `input` for an event or step. The result is small whatever the tools return, and its answer is cut if
 * a payload has no room for it.
 *
 * @throws {AgentRunError} if the run does not complete
 * @throws {RetryAfterError} if the run fails and the vendor requests a delay before the next call
 */
export async function handleWith<TData>(
  agent: Agent<TData>,
  input: string,
  ctx: HandlerCtx,
  { conversationId, approvals }: HandlingOptions = {},
): Promise<AgentHandlerResult<TData>> {
  const { idempotencyKey } = ctx;
  const result = await agent.run(input, {
    idempotencyKey,
    hubCtx: ctx,
    ...(conversationId !== undefined && { conversationId }),
    ...(approvals !== undefined && { approvals }),
  });
  if (result.status !== 'completed') {
    throw delayed(new AgentRunError(result), specOf(agent)?.maxRetryAfterMs.ofEvent);
  }
  return toHandlerResult(result);
}

/** Returns a {@link RetryAfterError} for an error whose vendor requests a delay, and any other error unchanged. */
export function delayed(error: Error & { readonly retryAfterMs?: number }, maxRetryAfterMs = 3_600_000): Error {
  if (error.retryAfterMs === undefined || isFatal(error)) return error;
  return new RetryAfterError(Math.min(error.retryAfterMs, maxRetryAfterMs), error.message, { cause: error });
}

function toHandlerResult<TData>({
  agentName,
  runId,
  output,
  data,
  truncated,
  tokenUsage,
  toolCalls,
}: AgentRunResult<TData>): AgentHandlerResult<TData> {
  const report = {
    agentName,
    runId,
    output,
    status: 'completed' as const,
    ...(truncated && { truncated }),
    tokenUsage,
    toolCalls: toolCalls.slice(-maxReportedCalls).map(({ name, error, durationMs }) => ({
      name: name.slice(0, maxReportedChars),
      ...(error !== undefined && { error: error.slice(0, maxReportedChars) }),
      durationMs,
    })),
  };
  // A completed run has `data` if its agent has a schema, which the type of a run's result does not show.
  return shortenableResult((data === undefined ? report : { ...report, data }) as AgentHandlerResult<TData>);
}

/**
 * Derives an agent's input from a payload: a string payload unchanged, else the first of the `fields` that is a
 * string, else the payload's JSON.
 */
export function inputOf(payload: unknown, fields: readonly string[]): string {
  if (typeof payload === 'string') return payload;
  if (typeof payload === 'object' && payload !== null) {
    for (const field of fields) {
      const value: unknown = Reflect.get(payload, field);
      if (typeof value === 'string') return value;
    }
  }
  return JSON.stringify(payload) ?? 'null';
}

/** Finds registered events. */
interface Events {
  event(target: EventRef<never, unknown> | string): RegisteredEvent;
}

/** Returns `true` if an agent has a tool whose calls may need approval. */
function needsApprover(agent: AgentSpec): boolean {
  return agent.tools().asksForApproval;
}

/**
 * Checks that somebody can decide on the calls of the agents, and that decisions are found by their key.
 *
 * @param agents agents of the handler, delegates included
 * @throws {NoApproverError | UnknownEventError | InvalidOptionError}
 */
export function checkApprovers(
  agents: readonly AgentSpec[],
  approvals: ApprovalEvents | undefined,
  owner: string,
  events: Events,
): void {
  if (approvals === undefined) {
    const asking = agents.find(needsApprover);
    if (asking !== undefined) throw new NoApproverError(asking.name, `set approvals of ${owner}`);
    return;
  }
  events.event(approvals.requested);
  const { type, key } = events.event(approvals.decided);
  const sample = { approvalId: 'approval', approved: true };
  let found: unknown;
  try {
    found = key?.(sample);
  } catch (error) {
    found = messageOf(error);
  }
  if (found !== sample.approvalId) {
    throw new InvalidOptionError(`key of event ${quote(type)}, the decided event of ${owner}`, 'the approvalId', found);
  }
}
