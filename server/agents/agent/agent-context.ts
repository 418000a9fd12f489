import { createHash } from 'node:crypto';
import type { HandlerCtx } from '../../hub/events/context.js';
import { type Logger, silentLogger } from '../../transports/logger.js';
import { EmitOutsideHubError } from '../errors.js';
import type { TokenLedger } from '../model/token-ledger.js';
import type { TokenUsage } from '../model/token-usage.js';
import type { AgentRunResult } from './agent-run-result.js';

/**
 * Context that a tool receives: the context of the event that started the run, with the fields of the run. Pass it as
 * `hubCtx` to another agent's `run` to make that run a delegate: it shares budget and signal, and the limits of
 * delegation apply.
 *
 * Outside a hub `eventType` is `'agent.run'`, `eventId` and `idempotencyKey` are the run's id, `logger` is silent, and
 * `emit` rejects with {@link EmitOutsideHubError}.
 */
export interface AgentContext extends HandlerCtx {
  readonly agentName: string;
  readonly runId: string;
  /**
   * Key of this tool call, the same for every execution of the call: pass it to other systems as their idempotency key.
   * 43 characters.
   */
  readonly callKey: string;
  /** Tokens of the run so far, delegates included. A copy: read the property again for later values. */
  readonly tokenUsage: Readonly<TokenUsage>;
  /**
   * Runs a registered agent on `input`, and resolves with its result, whatever its status.
   *
   * Rejects with {@link NoRegistryError}, {@link UnknownAgentError}, {@link DelegationCycleError},
   * {@link DelegationDepthError} or {@link DelegationLimitError}, and with the signal's reason if the run is aborted.
   */
  readonly delegate: (agentName: string, input: string) => Promise<AgentRunResult>;
}

/** Limits of all runs that one run starts, directly or through its delegates. */
export interface DelegationLimits {
  /** Maximum length of a chain. */
  readonly maxDepth: number;
  /** Maximum number of delegated runs. */
  readonly maxRuns: number;
  /** Number of delegated runs so far. */
  runs: number;
}

/** Position of a run in a chain of delegations. */
export interface Lineage {
  /** Agents from the first delegator to the agent of this context. */
  readonly chain: readonly string[];
  /** Limits of the first delegator. Absent in a debate that no agent started: each participant is then a first one. */
  readonly limits: DelegationLimits | undefined;
  readonly ledger: TokenLedger;
  readonly delegate: (ctx: AgentContext, agentName: string, input: string) => Promise<AgentRunResult>;
  /** Id of the run's exchange: with the call's id it identifies a call. */
  readonly exchangeId: string;
  /** Present in a debate: start of the ids of its exchanges, whose content the prompts repeat. */
  readonly debateId?: string;
}

// Own and enumerable, so that it survives `{ ...ctx }`; private to this module, so that nothing else can set it.
const partsKey: unique symbol = Symbol('hubline.agent-context');

/** Returns the lineage of a context, or `undefined` if the context is not that of an agent's run. */
export function lineageOf(ctx: HandlerCtx | undefined): Lineage | undefined {
  return partsOf(ctx)?.lineage;
}

function partsOf(ctx: HandlerCtx | undefined): AgentContextParts | undefined {
  // Only `createAgentContext` sets the key.
  return (ctx as { [partsKey]?: AgentContextParts } | undefined)?.[partsKey];
}

/** Parts of the context of one run. */
export interface AgentContextParts {
  readonly agentName: string;
  readonly runId: string;
  readonly lineage: Lineage;
  readonly payload: unknown;
  readonly signal: AbortSignal | undefined;
  readonly hubCtx: HandlerCtx | undefined;
  /** Receives log lines. @default the logger of `hubCtx` */
  readonly logger?: Logger | undefined;
  /** Present in the context of one call. */
  readonly call?: { readonly id: string; readonly name: string };
}

/** Creates the context of a run, or of one of its tool calls. */
export function createAgentContext(parts: AgentContextParts): AgentContext {
  const { agentName, runId, lineage, payload, hubCtx, call } = parts;
  let signal = parts.signal;
  let logger: Logger | undefined;
  let callKey: string | undefined;
  const ctx: AgentContext & { [partsKey]: AgentContextParts } = {
    requestId: hubCtx?.requestId ?? runId,
    eventType: hubCtx?.eventType ?? 'agent.run',
    eventId: hubCtx?.eventId ?? runId,
    payload: payload === undefined ? hubCtx?.payload : payload,
    attempt: hubCtx?.attempt ?? 1,
    depth: hubCtx?.depth ?? 0,
    idempotencyKey: hubCtx?.idempotencyKey ?? runId,
    emit: hubCtx?.emit ?? rejectOutsideHub,
    startWorkflow: hubCtx?.startWorkflow ?? rejectOutsideHub,
    // The hub creates its logger on first use as well.
    get logger() {
      logger ??= childLogger(parts);
      return logger;
    },
    // Created on first use: few tools need it, and an AbortController costs more than a turn.
    get signal() {
      signal ??= new AbortController().signal;
      return signal;
    },
    agentName,
    runId,
    // Few tools need it, and a hash takes longer than the rest of the context.
    get callKey() {
      callKey ??= createHash('sha256')
        .update(JSON.stringify([lineage.exchangeId, agentName, call?.id]))
        .digest('base64url');
      return callKey;
    },
    get tokenUsage() {
      return { ...lineage.ledger.usage };
    },
    delegate: (name, input) => lineage.delegate(ctx, name, input),
    [partsKey]: parts,
  };
  return ctx;
}

/**
 * Returns the context of one tool call.
 *
 * @param signal the call's own signal, which also aborts delegates of the call @default the run's signal
 */
export function contextOfCall(
  ctx: AgentContext,
  call: { readonly id: string; readonly name: string },
  signal?: AbortSignal,
): AgentContext {
  const parts = partsOf(ctx);
  if (parts === undefined) return { ...ctx, ...(signal && { signal }) };
  return createAgentContext({ ...parts, call, signal: signal ?? parts.signal });
}

function childLogger({ agentName, runId, hubCtx, call, ...parts }: AgentContextParts): Logger {
  const logger = parts.logger ?? hubCtx?.logger ?? silentLogger;
  const requestId = hubCtx?.requestId ?? runId;
  return logger.child?.({ requestId, runId, agent: agentName, ...(call && { tool: call.name }) }) ?? logger;
}

const rejectOutsideHub = (): Promise<never> => Promise.reject(new EmitOutsideHubError());
