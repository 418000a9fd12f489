import type { HandlerCtx, HandlerFunction } from '../../hub/events/context.js';
import type { RunCtx } from '../../hub/runs/step.js';
import { OptionChecker } from '../../options.js';
import type { InputPart } from '../model/part.js';
import type { TokenUsage } from '../model/token-usage.js';
import type { Source } from '../model/vendor-parts.js';
import type { AgentStream } from './agent-stream.js';
import { type ApprovalEvents, checkApprovalOptions, type OnApproval } from './approval.js';
import type { AgentRunResult, SettledAgentRun } from './run-result.js';

/**
 * Agent in registries, pipelines and debates: one from {@link createAgent}, or an object of your own with these members.
 * `TData` is the type of its results' `data`.
 */
export interface Agent<TData = unknown> {
  readonly name: string;
  readonly description: string | undefined;
  /** Runs the agent on `input`, and resolves with its result. */
  run(input: string, options?: AgentRunOptions): Promise<AgentRunResult<TData>>;
  /** Returns the agent as an event handler. */
  asHandler(): HandlerFunction;
}

/** Agent from {@link createAgent}: a model with a system prompt and tools. `TData` is the output type of its `outputSchema`. */
export interface ModelAgent<TData = unknown> extends Agent<TData> {
  /**
   * Runs the agent on `input`, a text or parts with images, audio and files, until the model gives a final answer.
   *
   * Resolves with the result, whatever model, tools, memory or delegates do: see its `status`. Rejects with
   * {@link InvalidOptionError} if `input` is no string and no valid parts or an option is wrong, with {@link DelegationCycleError},
   * {@link DelegationDepthError} or {@link DelegationLimitError} if the run of `hubCtx` must not delegate to this agent,
   * with {@link NoApproverError} if a tool needs approval and nothing decides, and with the signal's reason if the run
   * is aborted.
   */
  run(
    input: string | readonly InputPart[],
    options?: AgentRunOptions<HandlerCtx | RunCtx>,
  ): Promise<SettledAgentRun<TData>>;
  /**
   * Runs the agent, and streams the run's events. The loop and `result` reject as `run` does.
   *
   * @throws {InvalidOptionError} if `input` is no string and no valid parts or an option is wrong
   */
  stream(input: string | readonly InputPart[], options?: AgentRunOptions<HandlerCtx | RunCtx>): AgentStream<TData>;
  /**
   * Returns the agent as an event handler. Each answer of the model and each result of a tool is recorded: after a
   * crash, a deploy or a retry the run resumes at the turn that it had reached.
   *
   * The handler returns an {@link AgentHandlerResult}. It throws {@link AgentRunError} if the run does not complete,
   * and {@link RetryAfterError} with that error as its cause if the vendor requests a delay. An event is not retried if
   * the same input fails again: all turns or tokens are used up, the model repeats itself, or the vendor refuses the
   * call.
   *
   * @throws {InvalidOptionError}
   */
  asHandler(options?: AgentHandlerOptions): HandlerFunction<unknown, Promise<AgentHandlerResult<TData>>>;
}

/** Options of {@link ModelAgent.asHandler}. */
export interface AgentHandlerOptions {
  /**
   * Returns the id of the conversation that the event continues, see {@link AgentRunOptions.conversationId}.
   * @default the key of the event, or of the run of a workflow; a new conversation without a key
   */
  conversation?: (payload: unknown) => string;
  /**
   * Returns the input. @default the payload if it is a string, else `payload.input` if that is a string or a list of
   * parts with media, else the payload's JSON
   */
  input?: (payload: unknown) => string | readonly InputPart[];
  /**
   * Events that decide on calls of tools that need approval. The run is suspended until a decision comes, and holds no
   * process meanwhile. Required if the agent, or one that it can delegate to, has such tools. @default none
   */
  approvals?: ApprovalEvents;
  /**
   * Publishes texts, calls and results as live output while the run works: {@link PublishedAgentEvent}s, which `hub.stream`
   * and `resumeUIMessageResponse` pass on in any process. @default false
   */
  publish?: boolean;
}

/**
 * Value that a handler of {@link ModelAgent.asHandler} returns: the payload of `onSuccess`. `TData` is the output type of the
 * agent's `outputSchema`.
 */
export interface AgentHandlerResult<TData = unknown> {
  /** Agent that answered, see {@link AgentRunResult.agentName}. */
  agentName: string;
  runId: string;
  /** The final answer. */
  output: string;
  /** The answer as `outputSchema` returned it, which must be JSON. Absent for an agent without a schema. */
  data: TData;
  status: 'completed';
  /** `true` if the answer reached the token limit, so that its end is missing. */
  truncated?: true;
  /**
   * Number of characters at the end of the answer that `output` lacks, because the result would exceed
   * `maxPayloadBytes` of the hub. `output` then ends with a note. The record of the run has the whole answer.
   */
  omittedChars?: number;
  tokenUsage: TokenUsage;
  /**
   * The last 200 tool calls, without arguments and results. Errors are cut to 200 characters. Fewer calls if `output` is
   * cut, and they would take more than a quarter of the payload.
   */
  toolCalls: { name: string; error?: string; durationMs: number }[];
  /** The first 100 sources of the answers. Absent if there are none, or if `output` is cut. */
  sources?: Source[];
  /** The last 200 calls that the vendor ran, without arguments and results. Absent if there are none, or if `output` is cut. */
  vendorCalls?: { name: string; isError?: true }[];
}

/** Returns `true` if `value` is an agent. Untyped code may pass anything. */
export function isAgent(value: unknown): value is Agent {
  if (typeof value !== 'object' || value === null) return false;
  const { name, run }: { [Key in keyof Agent]?: unknown } = value;
  return typeof name === 'string' && typeof run === 'function';
}

/**
 * Options of one run. `TCtx` is the type of `hubCtx`: an agent of `createAgent` takes the context of a workflow's
 * function as well.
 */
export interface AgentRunOptions<TCtx extends HandlerCtx | RunCtx = HandlerCtx> {
  /** Id of the run, and its correlation id in logs and traces. @default the id of the event, else a random UUID */
  requestId?: string;
  /**
   * Conversation that the run continues: memory is stored under the agent's name and this id. Whoever knows it can
   * continue the conversation. Runs of one conversation run one after another.
   * @default `requestId`, else a new conversation
   */
  conversationId?: string;
  /**
   * Replaces the last exchange of the conversation, as `regenerate` of `useChat` does: the model does not see it, and
   * the memory returns it no more once the input of this run is stored. Has no effect without a memory. @default false
   */
  regenerate?: boolean;
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
  hubCtx?: TCtx;
  /** Decides on calls of tools that need approval, in this process. The run waits for it. @default none */
  onApproval?: OnApproval;
  /**
   * Events that decide on calls of tools that need approval. The workflow run is suspended until a decision comes.
   * Requires the context of a workflow's `run` function as `hubCtx`. @default none
   */
  approvals?: ApprovalEvents;
  /**
   * Publishes texts, calls and results as live output of the workflow run, see {@link AgentHandlerOptions.publish}.
   * Requires the context of a workflow's `run` function as `hubCtx`. @default false
   */
  publish?: boolean;
  /** Aborts the run: provider, tools and delegates. `run` then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Called like the agent's own `onTokenUsage`, and in addition to it. */
  onTokenUsage?: (usage: TokenUsage) => void;
}

const names: readonly string[] = [
  'requestId',
  'conversationId',
  'regenerate',
  'idempotencyKey',
  'payload',
  'hubCtx',
  'onApproval',
  'approvals',
  'publish',
  'signal',
  'onTokenUsage',
];

/** Checks the options of a run. @throws {InvalidOptionError} */
export function checkRunOptions(options: AgentRunOptions<HandlerCtx | RunCtx>): void {
  const check = new OptionChecker(options, names, 'run');
  const { requestId, conversationId, idempotencyKey, hubCtx, signal, onTokenUsage } = options;
  check.that(requestId === undefined || isId(requestId), 'requestId', 'a non-empty string', requestId);
  checkConversationId(check, conversationId ?? requestId);
  check.boolean('regenerate', options.regenerate);
  check.boolean('publish', options.publish);
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
 * open it by an id that the dashboard shows. Refuses unpaired surrogates: a store that encodes ids as UTF-8 would mix
 * two conversations up.
 */
function checkConversationId(check: OptionChecker, id: unknown): void {
  const isValid = id === undefined || (isId(id) && !/[\p{Cc}\p{Cs}]/u.test(String(id)));
  check.that(isValid, 'conversationId', 'a non-empty string without control characters and unpaired surrogates', id);
}

function isId(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}
