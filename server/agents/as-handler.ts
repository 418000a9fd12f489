import { InvalidOptionError, isFatal, messageOf, quote, RetryAfterError } from '../errors.js';
import type { HandlerCtx, HandlerFunction } from '../hub/events/context.js';
import { durablePlaceOf } from '../hub/events/durable-place.js';
import { type EventRegistry, withHandlerInfo } from '../hub/events/reported-agents.js';
import { OptionChecker } from '../options.js';
import type { Agent, AgentHandlerOptions, AgentHandlerResult, AgentRunOptions } from './agent/agent.js';
import { type ApprovalEvents, checkApprovalOptions } from './agent/approval.js';
import { AgentRunError, type AgentRunResult } from './agent/run-result.js';
import { type AgentSpec, introspectAgents, isModelAgent, reachableSpecs, specOf, takersOf } from './agent-spec.js';
import { NoApproverError } from './errors.js';
import { type InputPart, isPartList } from './model/part.js';
import { shortenableResult } from './shorten-result.js';

const maxReportedCalls = 200;
const maxReportedSources = 100;
const maxReportedChars = 200;

/** Implements {@link Agent.asHandler}. @throws {InvalidOptionError} */
export function toHandler<TData>(
  agent: Agent<TData>,
  options: AgentHandlerOptions,
): HandlerFunction<unknown, Promise<AgentHandlerResult<TData>>> {
  const owner = `asHandler of agent ${quote(agent.name)}`;
  const check = new OptionChecker(options, ['conversation', 'input', 'approvals', 'publish'], owner);
  const { conversation, input = (payload: unknown) => partsOf(payload) ?? inputOf(payload, ['input']) } = options;
  check.function('conversation', conversation);
  check.function('input', input);
  const { approvals, publish } = options;
  check.boolean('publish', publish);
  checkApprovalOptions(approvals, owner);
  const conversationOf = (read: (payload: unknown) => string, payload: unknown): string => {
    const id: unknown = read(payload);
    if (typeof id !== 'string')
      throw new InvalidOptionError(`the result of conversation of ${owner}`, 'a string', typeof id);
    return id;
  };
  const readInput = (payload: unknown): string | readonly InputPart[] => {
    const read: unknown = input(payload);
    if (typeof read !== 'string' && !Array.isArray(read))
      throw new InvalidOptionError(`the result of input of ${owner}`, 'a string or a list of parts', typeof read);
    // The run checks the parts.
    return read;
  };
  const handler = async (ctx: HandlerCtx): Promise<AgentHandlerResult<TData>> => {
    // Events of one key run one after another, as the exchanges of a conversation must.
    const conversationId =
      conversation === undefined ? durablePlaceOf(ctx)?.run.turnKey : conversationOf(conversation, ctx.payload);
    return handleWith(agent, readInput(ctx.payload), ctx, { conversationId, approvals, publish });
  };
  return withHandlerInfo(handler, {
    kind: 'agent',
    name: agent.name,
    isDurable: true,
    agents: () => introspectAgents([agent]),
    check: (events) => checkAgents(reachableSpecs([agent]), approvals, owner, events),
  });
}

interface HandlingOptions {
  readonly conversationId?: string | undefined;
  readonly approvals?: ApprovalEvents | undefined;
  readonly publish?: boolean | undefined;
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
  input: string | readonly InputPart[],
  ctx: HandlerCtx,
  { conversationId, approvals, publish }: HandlingOptions = {},
): Promise<AgentHandlerResult<TData>> {
  const { idempotencyKey } = ctx;
  const options = {
    idempotencyKey,
    hubCtx: ctx,
    ...(conversationId !== undefined && { conversationId }),
    ...(approvals !== undefined && { approvals }),
    ...(publish !== undefined && { publish }),
  };
  const result = await (typeof input === 'string' ? agent.run(input, options) : runOnParts(agent, input, options));
  if (result.status !== 'completed') {
    throw delayed(new AgentRunError(result), specOf(agent)?.maxRetryAfterMs.ofEvent);
  }
  return toHandlerResult(result);
}

function runOnParts<TData>(
  agent: Agent<TData>,
  input: readonly InputPart[],
  options: AgentRunOptions,
): Promise<AgentRunResult<TData>> {
  if (isModelAgent(agent)) return agent.run(input, options);
  throw new InvalidOptionError(`input of agent ${quote(agent.name)}`, 'a string: createAgent did not create it', input);
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
  sources,
  vendorCalls,
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
    ...(sources && { sources: sources.slice(0, maxReportedSources) }),
    ...(vendorCalls && {
      vendorCalls: vendorCalls.slice(-maxReportedCalls).map(({ name, isError }) => ({
        name: name.slice(0, maxReportedChars),
        ...(isError && { isError }),
      })),
    }),
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

/** Returns the parts of a payload with media. Parts that are texts only are JSON like any other list. */
export function partsOf(payload: unknown): readonly InputPart[] | undefined {
  if (typeof payload !== 'object' || payload === null) return undefined;
  const parts: unknown = Array.isArray(payload) ? payload : Reflect.get(payload, 'input');
  return isPartList(parts) ? parts : undefined;
}

/** Returns `true` if an agent has a tool whose calls may need approval. */
function needsApprover(agent: AgentSpec): boolean {
  return agent.tools().asksForApproval;
}

/**
 * Checks that the agents can hand over to each other, that somebody can decide on their calls, and that decisions are
 * found by their key.
 *
 * @param agents agents of the handler, delegates included
 * @throws {NoApproverError | UnknownEventError | InvalidOptionError}
 */
export function checkAgents(
  agents: readonly AgentSpec[],
  approvals: ApprovalEvents | undefined,
  owner: string,
  events: EventRegistry,
): void {
  for (const agent of agents) takersOf(agent);
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
