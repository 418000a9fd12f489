import type { HandlerCtx } from '../../hub/events/context.js';
import { silentLogger } from '../../transports/logger.js';
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
  /** Tokens of the run so far, delegates included. A copy: read the property again for later values. */
  readonly tokenUsage: Readonly<TokenUsage>;
  /**
   * Runs a registered agent on `input`, and resolves with its result, whatever its status.
   *
   * Rejects with {@link NoRegistryError}, {@link UnknownAgentError}, {@link DelegationCycleError} or
   * {@link DelegationDepthError}, and with the signal's reason if the run is aborted.
   */
  readonly delegate: (agentName: string, input: string) => Promise<AgentRunResult>;
}

/** Position of a run in a chain of delegations. */
export interface Lineage {
  /** Agents from the first delegator to the agent of this context. */
  readonly chain: readonly string[];
  /** Maximum length of the chain: `maxDelegationDepth` of the agent of this context. */
  readonly maxDepth: number;
  readonly ledger: TokenLedger;
  readonly delegate: (ctx: AgentContext, agentName: string, input: string) => Promise<AgentRunResult>;
}

// Own and enumerable, so that it survives `{ ...ctx }`; private to this module, so that nothing else can set it.
const lineageKey: unique symbol = Symbol('hubline.lineage');

/** Returns the lineage of a context, or `undefined` if the context is not that of an agent's run. */
export function lineageOf(ctx: HandlerCtx | undefined): Lineage | undefined {
  // Only `createAgentContext` sets the key.
  return (ctx as { [lineageKey]?: Lineage } | undefined)?.[lineageKey];
}

/** Parts of the context of one run. */
export interface AgentContextParts {
  readonly agentName: string;
  readonly runId: string;
  readonly lineage: Lineage;
  readonly payload: unknown;
  readonly signal: AbortSignal | undefined;
  readonly hubCtx: HandlerCtx | undefined;
}

/** Creates the context that all tools of one run share. */
export function createAgentContext(parts: AgentContextParts): AgentContext {
  const { agentName, runId, lineage, payload, hubCtx } = parts;
  let signal = parts.signal;
  const ctx: AgentContext & { [lineageKey]: Lineage } = {
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
      return hubCtx?.logger ?? silentLogger;
    },
    // Created on first use: few tools need it, and an AbortController costs more than a turn.
    get signal() {
      signal ??= new AbortController().signal;
      return signal;
    },
    agentName,
    runId,
    get tokenUsage() {
      return { ...lineage.ledger.usage };
    },
    delegate: (name, input) => lineage.delegate(ctx, name, input),
    [lineageKey]: lineage,
  };
  return ctx;
}

/** Returns a copy of the context for one tool call with its own signal, which also aborts delegates of that call. */
export function withSignal(ctx: AgentContext, signal: AbortSignal): AgentContext {
  const lineage = lineageOf(ctx);
  const own: AgentContext = {
    ...ctx,
    get tokenUsage() {
      return ctx.tokenUsage;
    },
    signal,
    ...(lineage && { delegate: (name, input) => lineage.delegate(own, name, input) }),
  };
  return own;
}

const rejectOutsideHub = (): Promise<never> => Promise.reject(new EmitOutsideHubError());
