import type { HandlerCtx } from '../hub/events/context.js';
import type { Emit } from '../hub/events/emit.js';
import { silentLogger } from '../transports/logger.js';
import { EmitOutsideHubError } from './errors.js';
import type { AgentRunResult } from './run.js';
import type { TokenLedger } from './token-ledger.js';
import type { TokenUsage } from './token-usage.js';

/**
 * What a tool gets: the context of the event that started the run, and the run. Passing it to another
 * agent's `run` as `hubCtx` makes that run a delegate's: same budget, same signal, same limits of depth and
 * of going round in circles.
 *
 * Outside a hub `eventType` is `'agent.run'`, `eventId` and `idempotencyKey` are the run's id, `logger`
 * is silent, and `emit` rejects with {@link EmitOutsideHubError}.
 */
export interface AgentContext extends HandlerCtx {
  readonly agentName: string;
  readonly runId: string;
  /** Tokens of the run so far, delegates included. A copy: ask the context again for later ones. */
  readonly tokenUsage: Readonly<TokenUsage>;
  /**
   * Has a registered agent work on `input` and resolves with its result, whatever its status.
   *
   * Rejects with {@link NoRegistryError}, {@link UnknownAgentError}, {@link DelegationCycleError} or
   * {@link DelegationDepthError}, and with the signal's reason when the run is aborted.
   */
  readonly delegate: (agentName: string, input: string) => Promise<AgentRunResult>;
}

/** Where a run stands among those that delegate to each other. */
export interface Lineage {
  /** Agents from the first to the one whose context this is. */
  readonly chain: readonly string[];
  /** How long the chain may get: `maxDelegationDepth` of the agent whose context this is. */
  readonly maxDepth: number;
  readonly ledger: TokenLedger;
  readonly delegate: (ctx: AgentContext, agentName: string, input: string) => Promise<AgentRunResult>;
}

// Own, enumerable and of this module alone: it survives `{ ...ctx }`, and nothing else can set it.
const lineageKey: unique symbol = Symbol('hubline.lineage');

/** The lineage of a context, where an agent's run made it. */
export function lineageOf(ctx: HandlerCtx | undefined): Lineage | undefined {
  // Nothing else has the key, so that what is found under it was put there below.
  return (ctx as { [lineageKey]?: Lineage } | undefined)?.[lineageKey];
}

/** What makes up the context of one run. */
export interface AgentContextParts {
  readonly agentName: string;
  readonly runId: string;
  readonly lineage: Lineage;
  readonly payload: unknown;
  readonly signal: AbortSignal | undefined;
  readonly hubCtx: HandlerCtx | undefined;
}

/** Makes the context that all tools of one run share. */
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
    emit: hubCtx?.emit ?? emitOutsideHub,
    // Made on demand by the hub as well.
    get logger() {
      return hubCtx?.logger ?? silentLogger;
    },
    // Few tools ask for it, and an AbortController costs more than a turn.
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

/** The same context for one call that has a signal of its own, which delegates heed too. */
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

const emitOutsideHub: Emit = () => Promise.reject(new EmitOutsideHubError());
