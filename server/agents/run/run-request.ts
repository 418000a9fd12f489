import { InvalidOptionError, quote } from '../../errors.js';
import type { HandlerCtx } from '../../hub/events/context.js';
import { spendKeyOf, spendPlaceOf } from '../../hub/limits/spend-limit.js';
import type { RunCtx } from '../../hub/runs/step.js';
import { deriveId } from '../../transports/derived-ids.js';
import { either } from '../abortable.js';
import { type AgentRunOptions, checkRunOptions } from '../agent/agent.js';
import {
  type AgentContext,
  createAgentContext,
  type Lineage,
  lineageOf,
  placeOf,
  signalOf,
  toHandlerCtx,
} from '../agent/agent-context.js';
import type { OnAgentEvent } from '../agent/agent-stream.js';
import type { ApprovalEvents, Approver, OnApproval } from '../agent/approval.js';
import type { AgentSpec } from '../agent-spec.js';
import { NoApproverError } from '../errors.js';
import { type CheckedPart, checkParts, type InputPart } from '../model/part.js';
import type { TokenLedger } from '../model/token-ledger.js';
import type { TokenUsage } from '../model/token-usage.js';
import { createLedger, delegateFrom } from '../multi-agent/delegation.js';
import type { ToolRegistry } from '../tools/tool-registry.js';
import type { RunPlace } from './turn-recorder.js';

/** Input and validated options of one run. */
export interface RunRequest {
  readonly input: string | readonly CheckedPart[];
  readonly runId: string;
  /** No other run has the `runId`: it was created for this one. */
  readonly hasNewId: boolean;
  /** Absent if no other run can know the conversation. */
  readonly conversationId: string | undefined;
  /** The run replaces the last exchange of the conversation. */
  readonly regenerate: boolean;
  readonly idempotencyKey: string | undefined;
  readonly payload: unknown;
  readonly hubCtx: HandlerCtx | undefined;
  readonly signal: AbortSignal | undefined;
  readonly onTokenUsage: ((usage: TokenUsage) => void) | undefined;
  readonly onApproval: OnApproval | undefined;
  readonly approvals: ApprovalEvents | undefined;
  /** Place at which a durable run records its turns. */
  readonly place: RunPlace | undefined;
  /** The run publishes its events as live output. Only a durable run does. */
  readonly publishes: boolean;
  /** Present if the run is streamed. The provider is then called with `chatStream`. */
  readonly onEvent?: OnAgentEvent;
}

/** Returns a conversation that only attempts with the same key share. No option can name it. */
function conversationOfAttempts(idempotencyKey: string | undefined): string | undefined {
  return idempotencyKey === undefined ? undefined : `\u0000${idempotencyKey}`;
}

/** Validates the input and the options of a run. @throws {InvalidOptionError} */
export function toRequest(
  name: string,
  input: string | readonly InputPart[],
  options: AgentRunOptions<HandlerCtx | RunCtx>,
): RunRequest {
  const owner = `input of agent ${quote(name)}`;
  const isParts = Array.isArray(input);
  if (!isParts && typeof input !== 'string') throw new InvalidOptionError(owner, 'a string or a list of parts', input);
  checkRunOptions(options);
  const { requestId, conversationId, idempotencyKey, payload, signal, onTokenUsage, onApproval, approvals } = options;
  const hubCtx = options.hubCtx && toHandlerCtx(options.hubCtx);
  const isDelegated = lineageOf(hubCtx) !== undefined;
  const place = placeOf(hubCtx);
  const path = place?.pathOf(name);
  const given =
    requestId ??
    (isDelegated ? undefined : hubCtx?.eventId) ??
    (place && path !== undefined ? deriveId('agent', place.run.key, path) : undefined);
  return {
    input: isParts ? checkParts(input, owner) : input,
    runId: given ?? crypto.randomUUID(),
    hasNewId: given === undefined,
    conversationId: conversationId ?? requestId ?? conversationOfAttempts(idempotencyKey),
    regenerate: options.regenerate === true,
    idempotencyKey,
    payload,
    hubCtx,
    signal: either(signal, signalOf(hubCtx)),
    onTokenUsage,
    onApproval,
    approvals,
    publishes: options.publish === true,
    place:
      place && path !== undefined
        ? { run: place.run, path, recordsFailures: place.recordsFailures, readsTexts: !isDelegated }
        : undefined,
  };
}

/** Returns who decides on the calls of a run: as its options say, else as the delegating run's do. */
function approverOf({ onApproval, approvals: events, hubCtx }: RunRequest): Approver | undefined {
  if (onApproval !== undefined) return { onApproval };
  return events === undefined ? lineageOf(hubCtx)?.approver : { events };
}

/** @throws {NoApproverError} if the agent has tools that need approval, and nobody can decide */
export function checkApprover(agent: AgentSpec, request: RunRequest, tools: ToolRegistry = agent.tools()): void {
  const owner = `of a run of agent ${quote(agent.name)}`;
  const durable = 'omitted unless hubCtx is the context of a workflow function or of a handler of asHandler';
  if (request.place === undefined) {
    if (request.publishes) throw new InvalidOptionError(`publish ${owner}`, durable, true);
    if (request.approvals !== undefined) {
      throw new InvalidOptionError(`approvals ${owner}`, `${durable}; use onApproval`, 'approvals');
    }
  }
  if (!tools.asksForApproval) return;
  const approver = approverOf(request);
  if (approver === undefined) throw new NoApproverError(agent.name, 'set onApproval of run, or approvals of asHandler');
  if (approver.events === undefined || request.place !== undefined) return;
  throw new NoApproverError(agent.name, 'an agent that the code of a tool or a plain step runs cannot wait');
}

/** Everything of a run that its delegates share. */
export interface RunScope {
  readonly ledger: TokenLedger;
  readonly ctx: AgentContext;
  readonly approver: Approver | undefined;
}

/** Part of a run before the conversation was handed over. */
export interface EarlierPart {
  readonly ctx: AgentContext;
  /** An earlier exchange handed the conversation over: the run starts with the agent, and has no chain yet. */
  readonly isStart: boolean;
  /** Ledger of the agent in the run, if it had the conversation before. */
  readonly ledger: TokenLedger | undefined;
}

/**
 * Creates the budget and the context of a run, below those of the run that delegates to it.
 *
 * @param before part of the same run whose agent handed the conversation over
 */
export function createRunScope(
  agent: AgentSpec,
  request: RunRequest,
  exchangeId: string,
  before?: EarlierPart,
): RunScope {
  const { name: agentName, logger, maxDelegationDepth: maxDepth, maxDelegations: maxRuns } = agent;
  const { tokenBudget: tokens, costBudget: cost, prices, spendLimits } = agent;
  const { runId, payload, signal } = request;
  const hubCtx = before?.ctx ?? request.hubCtx;
  const parent = lineageOf(hubCtx);
  const above = before?.isStart === true ? lineageOf(request.hubCtx) : parent;
  const approver = approverOf(request);
  const listeners = [agent.onTokenUsage, request.onTokenUsage];
  const owner = { kind: 'agent', name: agentName } as const;
  const windows = spendLimits?.map((limit) => {
    const key = spendKeyOf(limit, payload === undefined ? hubCtx?.payload : payload, agentName);
    return { agent: agentName, unit: limit.unit, key, ...spendPlaceOf(agentName, limit, key) };
  });
  const limits = { tokens, cost, prices, ...(windows && { windows }) };
  const ledger = before?.ledger ?? createLedger(owner, limits, listeners, hubCtx, () => ctx.logger);
  if (parent !== undefined && before?.isStart !== true) ledger.countRuns(1);
  const lineage: Lineage = {
    chain: [...(above?.chain ?? []), agentName],
    limits: parent?.limits ?? { maxDepth, maxRuns, runs: 0 },
    ledger,
    delegate: delegateFrom.bind(undefined, agent),
    exchangeId,
    approver,
  };
  const ctx = createAgentContext({ agentName, runId, lineage, payload, signal, hubCtx, logger });
  return { ledger, ctx, approver };
}
