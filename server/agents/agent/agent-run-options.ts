import type { HandlerCtx } from '../../hub/events/context.js';
import { OptionChecker } from '../../options.js';
import type { TokenUsage } from '../model/token-usage.js';

/** Options of one run. */
export interface AgentRunOptions {
  /**
   * Id of the run. With a memory it also selects the conversation: memory is stored under the agent's name and this
   * id. @default a random UUID
   */
  requestId?: string;
  /**
   * Key that is the same for all attempts, such as the `idempotencyKey` of an event. With a memory, an attempt
   * resumes where the previous attempt stopped: the input is stored once, executed calls are not repeated, and a
   * stored answer is returned unchanged. Tokens and tool calls of the result are those of this attempt.
   * @default none: every run starts anew
   */
  idempotencyKey?: string;
  /** Value of `ctx.payload` in tools. @default the payload of `hubCtx` */
  payload?: unknown;
  /**
   * Context of the event, or of another agent's run, that this run is part of. Tools find its fields in their own
   * context. Its signal aborts this run. The run of another agent shares its token budget.
   */
  hubCtx?: HandlerCtx;
  /** Aborts the run: provider, tools and delegates. `run` then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Called with the token usage after each model call, in addition to the agent's own `onTokenUsage`. */
  onTokenUsage?: (usage: TokenUsage) => void;
}

const names: readonly string[] = ['requestId', 'idempotencyKey', 'payload', 'hubCtx', 'signal', 'onTokenUsage'];

/** Checks the options of a run. @throws {InvalidOptionError} */
export function checkRunOptions(options: AgentRunOptions): void {
  const check = new OptionChecker(options, names, 'run');
  const { requestId, idempotencyKey, hubCtx, signal, onTokenUsage } = options;
  check.that(requestId === undefined || isId(requestId), 'requestId', 'a non-empty string', requestId);
  check.that(
    idempotencyKey === undefined || isId(idempotencyKey),
    'idempotencyKey',
    'a non-empty string',
    idempotencyKey,
  );
  const isContext = hubCtx === undefined || (typeof hubCtx === 'object' && hubCtx !== null);
  check.that(isContext, 'hubCtx', 'the context of a handler or a tool', hubCtx);
  // Not instanceof: the signal may come from another realm.
  const isSignal = signal === undefined || typeof signal?.throwIfAborted === 'function';
  check.that(isSignal, 'signal', 'an AbortSignal', signal);
  check.function('onTokenUsage', onTokenUsage);
}

function isId(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}
