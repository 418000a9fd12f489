import { AttemptEndedError } from '../../hub/errors.js';
import { refuseTransaction } from '../../hub/events/attempt-ctx.js';
import type { HandlerCtx } from '../../hub/events/context.js';
import { type DurablePlace, durablePlaceOf } from '../../hub/events/durable-place.js';
import type { RunCtx } from '../../hub/runs/step.js';
import { nodeCrypto } from '../../transports/derived-ids.js';
import { type Logger, silentLogger } from '../../transports/transport.js';
import { EmitOutsideHubError } from '../errors.js';
import type { SpendingMeter, TokenLedger } from '../model/token-ledger.js';
import type { TokenUsage } from '../model/token-usage.js';
import type { Approver } from './approval.js';
import type { AgentRunResult } from './run-result.js';

/**
 * Context that a tool receives: the context of the event that started the run, with the fields of the run. Pass it as
 * `hubCtx` to another agent's `run` to make that run a delegate: it shares budget and signal, and the limits of
 * delegation apply.
 *
 * `signal`, `logger`, `publish`, `callKey` and `tokenUsage` are created on first access and are not own properties: pass the context
 * itself, because a spread copy lacks them.
 *
 * Outside a hub `eventType` is `'agent.run'`, `eventId` and `idempotencyKey` are the run's id, `logger` is silent, and
 * `emit` rejects with {@link EmitOutsideHubError}, and `publish` does nothing.
 */
export interface AgentContext extends HandlerCtx {
  readonly agentName: string;
  readonly runId: string;
  /** Key of the tool call, see {@link ToolContext.callKey}. */
  readonly callKey?: string;
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

/** Context of one tool call. */
export interface ToolContext extends AgentContext {
  /**
   * Key of this tool call, the same for every execution of the call: pass it to other systems as their idempotency key.
   * 43 characters.
   */
  readonly callKey: string;
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
  /** Source of the decisions on tool calls that need approval. */
  readonly approver?: Approver | undefined;
  /** Present in a debate: start of the ids of its exchanges, whose content the prompts repeat. */
  readonly debateId?: string;
}

// Own and enumerable, so that it survives `{ ...ctx }`; private to this module, so that nothing else can set it.
const partsKey: unique symbol = Symbol('hubline.agent-context');

/** Returns the lineage of a context, or `undefined` if the context is not that of an agent's run. */
export function lineageOf(ctx: HandlerCtx | undefined): Lineage | undefined {
  return partsOf(ctx)?.lineage;
}

/** Returns what counts the spending of the agents that run with `ctx`. Present in a durable run. */
export function meterOf(ctx: HandlerCtx | undefined): SpendingMeter | undefined {
  return partsOf(ctx)?.meter;
}

/** Returns the handler's context that the context of an agent's run comes from. Other contexts are returned unchanged. */
export function handlerContextOf(ctx: HandlerCtx): HandlerCtx | undefined {
  let current: HandlerCtx | undefined = ctx;
  for (let parts = partsOf(current); parts !== undefined; parts = partsOf(current)) current = parts.hubCtx;
  return current;
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
  /** Place at which agents that run with the context record their turns. Absent if they record none. */
  readonly place?: DurablePlace | undefined;
  /** Step that a call is part of: what the tool emits is accepted with the step's result. */
  readonly step?: Pick<HandlerCtx, 'emit' | 'startWorkflow' | 'publish'> | undefined;
  /** Counts the spending of the agents that run with the context. */
  readonly meter?: SpendingMeter | undefined;
  /** Present in the context of one call. */
  readonly call?: { readonly id: string; readonly name: string };
}

/** Creates the context of a run, or of one of its tool calls. */
export function createAgentContext(parts: AgentContextParts): AgentContext {
  return new AgentRunCtx(parts, parts.call, parts.signal);
}

/** Returns the signal of a context, also of a spread copy. Never creates one. */
export function signalOf(ctx: HandlerCtx | undefined): AbortSignal | undefined {
  const parts = partsOf(ctx);
  return parts === undefined || (ctx !== undefined && Object.hasOwn(ctx, 'signal')) ? ctx?.signal : parts.signal;
}

// A class, because each tool call has a context: an object literal with getters takes several times longer. Fields that
// the class defines would be set twice.
class AgentRunCtx implements ToolContext {
  declare readonly requestId: string;
  declare readonly eventType: string;
  declare readonly eventId: string;
  declare readonly payload: unknown;
  declare readonly attempt: number;
  declare readonly depth: number;
  declare readonly idempotencyKey: string;
  declare readonly emit: AgentContext['emit'];
  declare readonly startWorkflow: AgentContext['startWorkflow'];
  declare readonly agentName: string;
  declare readonly runId: string;
  declare readonly delegate: AgentContext['delegate'];
  declare readonly [partsKey]: AgentContextParts;
  readonly #call: AgentContextParts['call'];
  #signal: AbortSignal | undefined;
  #logger: Logger | undefined;
  #callKey: string | undefined;

  constructor(parts: AgentContextParts, call: AgentContextParts['call'], signal: AbortSignal | undefined) {
    const { agentName, runId, lineage, payload, hubCtx } = parts;
    this.requestId = hubCtx?.requestId ?? runId;
    this.eventType = hubCtx?.eventType ?? 'agent.run';
    this.eventId = hubCtx?.eventId ?? runId;
    this.payload = payload === undefined ? hubCtx?.payload : payload;
    this.attempt = hubCtx?.attempt ?? 1;
    this.depth = hubCtx?.depth ?? 0;
    this.idempotencyKey = hubCtx?.idempotencyKey ?? runId;
    const emitter = parts.step ?? hubCtx;
    this.emit = emitter?.emit ?? rejectOutsideHub;
    this.startWorkflow = emitter?.startWorkflow ?? rejectOutsideHub;
    this.agentName = agentName;
    this.runId = runId;
    // A function expression is not assigned to a property at once, for the reason that `listen` of transports has.
    const delegate: AgentContext['delegate'] = (name, input) => lineage.delegate(this, name, input);
    this.delegate = delegate;
    this[partsKey] = signal === parts.signal ? parts : { ...parts, signal };
    this.#call = call;
    this.#signal = signal;
  }

  get publish(): AgentContext['publish'] {
    const { step, hubCtx } = this[partsKey];
    return step?.publish ?? hubCtx?.publish ?? publishNowhere;
  }

  get transaction(): AgentContext['transaction'] {
    return refuseTransaction;
  }

  // The hub creates its logger on first use as well.
  get logger(): Logger {
    this.#logger ??= childLogger(this[partsKey], this.#call);
    return this.#logger;
  }

  // Created on first use: few tools need it, and an AbortController costs more than a turn.
  get signal(): AbortSignal {
    this.#signal ??= new AbortController().signal;
    return this.#signal;
  }

  // Few tools need it, and a hash takes longer than the rest of the context.
  get callKey(): string {
    const { lineage, agentName } = this[partsKey];
    this.#callKey ??= callKeyOf(lineage.exchangeId, agentName, this.#call?.id);
    return this.#callKey;
  }

  get tokenUsage(): TokenUsage {
    return { ...this[partsKey].lineage.ledger.usage };
  }
}

/** Place of a tool call in a durable run. */
export type CallPlace = Pick<AgentContextParts, 'step' | 'place' | 'meter'>;

/**
 * Returns the context of one tool call.
 *
 * @param signal the call's own signal, which also aborts delegates of the call @default the run's signal
 * @param place step that the call is part of, or place at which delegates of the call record their turns
 */
export function contextOfCall(
  ctx: AgentContext,
  call: { readonly id: string; readonly name: string },
  signal?: AbortSignal,
  place?: CallPlace,
): ToolContext {
  const parts = partsOf(ctx);
  if (parts === undefined) return foreignContext(ctx, call.id, signal);
  return new AgentRunCtx(place === undefined ? parts : placed(parts, place), call, signal ?? parts.signal);
}

/** Returns the context of a call for a context that no run created, such as the spread copy of a handler's. */
function foreignContext(ctx: AgentContext, callId: string, signal: AbortSignal | undefined): ToolContext {
  const { runId, agentName, logger = silentLogger, callKey = callKeyOf(runId, agentName, callId) } = ctx;
  return { ...ctx, callKey, logger, signal: signal ?? ctx.signal ?? new AbortController().signal };
}

function callKeyOf(exchangeId: string, agentName: string, callId: string | undefined): string {
  return nodeCrypto()
    .createHash('sha256')
    .update(JSON.stringify([exchangeId, agentName, callId]))
    .digest('base64url');
}

/** Returns the context with a meter for the agents that run with it. */
export function contextWithMeter(ctx: AgentContext, meter: SpendingMeter): AgentContext {
  const parts = partsOf(ctx);
  return parts === undefined ? ctx : new AgentRunCtx({ ...parts, meter }, undefined, parts.signal);
}

function placed(parts: AgentContextParts, { step, place, meter }: CallPlace): AgentContextParts {
  const { agentName, runId, lineage, payload, signal, hubCtx, logger } = parts;
  // No spread: a context per call would take longer than its tool.
  return { agentName, runId, lineage, payload, signal, hubCtx, logger, place, step, meter };
}

/** Returns the place at which an agent that runs with `ctx` records its turns, if it does. */
export function placeOf(ctx: HandlerCtx | undefined): DurablePlace | undefined {
  const parts = partsOf(ctx);
  return parts === undefined ? durablePlaceOf(ctx) : parts.place;
}

/** Returns the context of a handler, a step or a tool unchanged, and that of a workflow's function as such a context. */
export function toHandlerCtx(ctx: HandlerCtx | RunCtx): HandlerCtx {
  const place = durablePlaceOf(ctx);
  if ('eventId' in ctx || place === undefined) return ctx as HandlerCtx;
  const { run } = place;
  return {
    ...ctx,
    eventType: run.name,
    eventId: ctx.runId,
    payload: ctx.input,
    attempt: run.attempt,
    depth: run.depth,
    idempotencyKey: run.key,
    emit: rejectOutsideStep,
    startWorkflow: rejectOutsideStep,
    publish: ctx.step.publish,
    transaction: refuseTransaction,
  };
}

const rejectOutsideStep = (): Promise<never> => Promise.reject(new AttemptEndedError('ctx.emit'));

function childLogger(parts: AgentContextParts, call: AgentContextParts['call']): Logger {
  const { agentName, runId, hubCtx } = parts;
  const logger = parts.logger ?? hubCtx?.logger ?? silentLogger;
  const requestId = hubCtx?.requestId ?? runId;
  return logger.child?.({ requestId, runId, agent: agentName, ...(call && { tool: call.name }) }) ?? logger;
}

/** Nobody can read what is published outside a hub. */
const publishNowhere = (): Promise<void> => Promise.resolve();

const rejectOutsideHub = (): Promise<never> => Promise.reject(new EmitOutsideHubError());
