import { InvalidOptionError } from '../errors.js';
import type { HandlerCtx } from '../hub/events/context.js';
import { checkOptionNames } from '../option-names.js';
import type { TokenUsage } from './token-usage.js';

/** Settings of one run. */
export interface AgentRunOptions {
  /**
   * The run's id, and with a memory the conversation that it continues: memory is kept under the agent's
   * name and this. @default a random UUID
   */
  requestId?: string;
  /**
   * The same for all attempts at one thing, such as the `idempotencyKey` of an event. With a memory an
   * attempt goes on where the one before it stopped: the conversation gets the input once, calls that were
   * carried out stay so, and an answer that is there already is returned as it is. Tokens and tool calls of
   * the result are this attempt's alone. @default none: every run asks anew
   */
  idempotencyKey?: string;
  /** What tools find as `ctx.payload`. @default the payload of `hubCtx` */
  payload?: unknown;
  /**
   * The event, or the run of another agent, that this run is part of. Tools get its fields in their
   * context; its signal aborts this run; a run of another agent shares its token budget.
   */
  hubCtx?: HandlerCtx;
  /** Aborts the run: provider, tools and delegates. `run` then rejects with its reason. */
  signal?: AbortSignal;
  /** Told of each model call's tokens, beside the agent's own `onTokenUsage`. */
  onTokenUsage?: (usage: TokenUsage) => void;
}

const names: readonly string[] = ['requestId', 'idempotencyKey', 'payload', 'hubCtx', 'signal', 'onTokenUsage'];

/** @throws {InvalidOptionError} */
export function checkRunOptions(options: AgentRunOptions): void {
  if (typeof options !== 'object' || options === null)
    throw new InvalidOptionError('options of run', 'an object', options);
  checkOptionNames(options, names, 'run');
  const { requestId, idempotencyKey, hubCtx, signal, onTokenUsage } = options;
  const check = (ok: boolean, option: string, expected: string, got: unknown): void => {
    if (!ok) throw new InvalidOptionError(`${option} of run`, expected, got);
  };
  check(requestId === undefined || isId(requestId), 'requestId', 'a non-empty string', requestId);
  check(idempotencyKey === undefined || isId(idempotencyKey), 'idempotencyKey', 'a non-empty string', idempotencyKey);
  const isContext = hubCtx === undefined || (typeof hubCtx === 'object' && hubCtx !== null);
  check(isContext, 'hubCtx', 'the context of a handler or a tool', hubCtx);
  // Not by its class: it may come from another realm.
  const isSignal = signal === undefined || typeof signal?.throwIfAborted === 'function';
  check(isSignal, 'signal', 'an AbortSignal', signal);
  check(onTokenUsage === undefined || typeof onTokenUsage === 'function', 'onTokenUsage', 'a function', onTokenUsage);
}

function isId(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}
