import type { HandlerCtx } from '../../hub/events/context.js';
import type { RunCtx } from '../../hub/runs/definition/step.js';
import { OptionChecker } from '../../options.js';
import type { ApprovalEvents, OnApproval } from '../approvals/approval.js';
import { checkApprovalOptions } from '../approvals/approval-options.js';
import type { TokenUsage } from '../model/token-usage.js';

/** Options of one run. */
export interface AgentRunOptions {
  /** Id of the run, and its correlation id in logs and traces. @default the id of the event, else a random UUID */
  requestId?: string;
  /**
   * Conversation that the run continues: memory is stored under the agent's name and this id. Whoever knows it can
   * continue the conversation. Runs of one conversation run one after another.
   * @default `requestId`, else a new conversation
   */
  conversationId?: string;
  /**
   * Key that is the same for all attempts, such as the `idempotencyKey` of an event. With a memory, an attempt
   * resumes where the previous attempt stopped: the input is stored once, executed calls are not repeated, and a
   * stored answer is returned unchanged. `maxIterations`, `tokenBudget` and `maxToolCalls` apply to all attempts
   * together. Tokens and tool calls of the result are those of this attempt.
   * @default none: every run starts anew
   */
  idempotencyKey?: string;
  /** Value of `ctx.payload` in tools. @default the payload of `hubCtx` */
  payload?: unknown;
  /**
   * Context of the event, or of another agent's run, that this run is part of. Tools find its fields in their own
   * context. Its signal aborts this run. The run of another agent shares its token budget. With the context of a
   * workflow's `run` function, or of the handler that `asHandler` returns, the run records its turns as steps.
   */
  hubCtx?: HandlerCtx | RunCtx;
  /** Decides on calls of tools that need approval, in this process. The run waits for it. @default none */
  onApproval?: OnApproval;
  /**
   * Events that decide on calls of tools that need approval. The workflow run is suspended until a decision comes.
   * Requires the context of a workflow's `run` function as `hubCtx`. @default none
   */
  approvals?: ApprovalEvents;
  /** Aborts the run: provider, tools and delegates. `run` then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Called like the agent's own `onTokenUsage`, and in addition to it. */
  onTokenUsage?: (usage: TokenUsage) => void;
}

const names: readonly string[] = [
  'requestId',
  'conversationId',
  'idempotencyKey',
  'payload',
  'hubCtx',
  'onApproval',
  'approvals',
  'signal',
  'onTokenUsage',
];

/** Checks the options of a run. @throws {InvalidOptionError} */
export function checkRunOptions(options: AgentRunOptions): void {
  const check = new OptionChecker(options, names, 'run');
  const { requestId, conversationId, idempotencyKey, hubCtx, signal, onTokenUsage } = options;
  check.that(requestId === undefined || isId(requestId), 'requestId', 'a non-empty string', requestId);
  checkConversationId(check, conversationId ?? requestId);
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
  check.function('onApproval', options.onApproval);
  checkApprovalOptions(options.approvals, 'run');
  const isOneOfBoth = options.onApproval === undefined || options.approvals === undefined;
  check.that(isOneOfBoth, 'approvals', 'omitted if onApproval is set', options.approvals);
}

/**
 * Refuses control characters: the conversation of an event without one starts with such a character, so that nobody can
 * open it by an id that the dashboard shows.
 */
function checkConversationId(check: OptionChecker, id: unknown): void {
  const isValid = id === undefined || (isId(id) && !/\p{Cc}/u.test(String(id)));
  check.that(isValid, 'conversationId', 'a non-empty string without control characters', id);
}

function isId(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}
