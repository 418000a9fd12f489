import { messageOf, quote } from '../../errors.js';
import { parseWithoutPrototypes } from '../../hub/events/payload.js';
import { type Limit, selectLimit } from '../../hub/limits/limit.js';
import type { LimitKeeper } from '../../hub/limits/limit-keeper.js';
import { type Clock, systemClock } from '../../transports/clock.js';
import { AbortableWaits, abortable } from '../abortable.js';
import {
  type AgentContext,
  type CallPlace,
  contextOfCall,
  signalOf,
  type ToolContext,
} from '../agent/agent-context.js';
import type { ApprovalDecision } from '../agent/approval.js';
import { InvalidToolCallError, invalidArguments, ToolResultNotJsonError, ToolTimeoutError } from '../errors.js';
import { observeTool } from '../gen-ai-operations.js';
import { cutText } from '../model/foreign-values.js';
import type { ToolCall, ToolResult } from '../model/message.js';
import { describeParts, isMedia, MediaResult, type Part, readResult } from '../model/part.js';
import type { CallSpending } from '../model/token-usage.js';
import type { Tool } from './tool.js';
import type { ToolRegistry } from './tool-registry.js';

/** Options of a {@link ToolExecutor}. */
export interface ToolExecutorOptions {
  /** Maximum number of calls that run at the same time. @default no limit */
  maxParallel?: number;
  /** Maximum number of characters of a result that the model receives. @default no limit */
  maxResultChars?: number;
  /** @default systemClock */
  clock?: Clock;
  /** Takes permits of the limits of tools. @default calls take none */
  limits?: LimitKeeper;
}

/** Content of the tool message of a result. */
export interface ResultContent {
  readonly content: string;
  /** The content is the whole result as JSON. */
  readonly isJson?: true;
  /** Parts of a {@link MediaResult}. */
  readonly parts?: Part[];
}

/** Executed tool call. */
export interface ExecutedCall {
  readonly result: ToolResult;
  /** Content of the tool message. */
  readonly content: string;
  /** The content is the whole result as JSON. */
  readonly isJson?: boolean;
  /** `true` if the signal aborted before the call ended, so that its effect is unknown. */
  readonly isInterrupted: boolean;
  /** Nobody approved the call. */
  readonly isDenied?: true;
  /** Agent that the call handed the conversation over to. */
  readonly handoff?: string;
  /** Spending of the agents that the call ran in an earlier delivery: it is not counted yet. */
  readonly spentBefore?: CallSpending;
}

/** Result of a tool that hands the conversation over to another agent. */
export class Handoff {
  readonly handedOverTo: string;

  constructor(agentName: string) {
    this.handedOverTo = agentName;
  }
}

/** Executes a call. @param place place of the call in a durable run */
export type ExecuteCall = (place: CallPlace | undefined) => Promise<ExecutedCall>;

/** Part of the error that the model receives for a call that may have had its effect. */
export const unknownEffect = 'the call may or may not have been executed';

/** Executes the tool calls of a model. Never rejects: the error of a call becomes the `error` of its result. */
export class ToolExecutor {
  #registry: ToolRegistry;
  readonly #maxParallel: number;
  readonly #maxResultChars: number;
  readonly #clock: Clock;
  readonly #limits: LimitKeeper | undefined;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(
    registry: ToolRegistry,
    {
      maxParallel = Number.POSITIVE_INFINITY,
      maxResultChars = Number.POSITIVE_INFINITY,
      clock = systemClock,
      limits,
    }: ToolExecutorOptions = {},
  ) {
    this.#registry = registry;
    this.#maxParallel = maxParallel;
    this.#maxResultChars = maxResultChars;
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Executes calls with these tools from now on. */
  useTools(registry: ToolRegistry): void {
    this.#registry = registry;
  }

  /**
   * Returns the content of the tool message of a result, and if it is the whole result as JSON. Reads the bytes of media.
   *
   * @throws {ToolResultNotJsonError | InvalidOptionError}
   */
  contentOf(result: unknown, name: string): ResultContent | Promise<ResultContent> {
    if (MediaResult.is(result)) return this.#contentOfMedia(result, name);
    const whole = toResultContent(result, name);
    const content = cutContent(whole, this.#maxResultChars);
    return typeof result !== 'string' && content === whole ? { content, isJson: true } : { content };
  }

  async #contentOfMedia(result: MediaResult, name: string): Promise<ResultContent> {
    const read = await readResult(result, name);
    const text = typeof read === 'string' ? read : describeParts(read);
    const content = cutContent(text, this.#maxResultChars);
    if (typeof read === 'string') return { content };
    return { content, parts: content === text ? read : [{ type: 'text', text: content }, ...read.filter(isMedia)] };
  }

  /** Executes calls in parallel, and resolves with one result per call, in the order of the calls. */
  async executeAll(toolCalls: readonly ToolCall[], ctx: AgentContext): Promise<ToolResult[]> {
    const waits = new AbortableWaits(signalOf(ctx));
    const execute = (call: ToolCall): Promise<ExecutedCall> =>
      this.inTurn(() => this.execute(call, ctx, waits, undefined));
    return (await Promise.all(toolCalls.map(execute))).map(({ result }) => result);
  }

  /** Executes a call as soon as fewer than the maximum run. If one rejects, the run ends, and none takes its place. */
  async inTurn<T>(execute: () => Promise<T>): Promise<T> {
    if (this.#running < this.#maxParallel) this.#running += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const result = await execute();
    const next = this.#waiting.shift();
    if (next === undefined) this.#running -= 1;
    else next();
    return result;
  }

  /**
   * Executes one call.
   *
   * @param turn number of the turn, for log lines
   * @param place place of the call in a durable run
   */
  async execute(
    call: ToolCall,
    ctx: AgentContext,
    waits: AbortableWaits,
    turn: number | undefined,
    place?: CallPlace,
  ): Promise<ExecutedCall> {
    const { signal } = waits;
    const startedAt = this.#clock.monotonic();
    const { id: toolCallId, name } = call;
    let hasStarted = false;
    // Retained if the conversion to JSON fails.
    let result: unknown = null;
    try {
      signal?.throwIfAborted();
      const known = this.#registry.entry(name)?.tool.name;
      result = await observeTool(call, known, ctx, () => {
        const { tool, input } = this.prepare(call);
        const invoke = (): PromiseLike<unknown> => {
          hasStarted = true;
          return this.#invoke(tool, input, (signal) => contextOfCall(ctx, call, signal, place), waits);
        };
        return this.#limits === undefined || tool.limit === undefined
          ? invoke()
          : this.#limits.run(selectLimit(tool.limit, input, subjectOf(tool)), waits, invoke);
      });
      const found = this.contentOf(result, name);
      const { content, isJson = false, parts } = found instanceof Promise ? await found : found;
      const durationMs = this.#clock.monotonic() - startedAt;
      if (result instanceof Handoff) {
        const { handedOverTo } = result;
        const plain = { toolCallId, name, result: { handedOverTo }, durationMs };
        return { result: plain, content, isJson, isInterrupted: false, handoff: handedOverTo };
      }
      if (parts === undefined && !MediaResult.is(result)) {
        return { result: { toolCallId, name, result, durationMs }, content, isJson, isInterrupted: false };
      }
      const withMedia = { toolCallId, name, result: content, ...(parts && { parts }), durationMs };
      return { result: withMedia, content, isInterrupted: false };
    } catch (thrown) {
      const durationMs = this.#clock.monotonic() - startedAt;
      const isInterrupted = signal?.aborted === true && thrown === signal.reason;
      const isToolsOwn = !(thrown instanceof InvalidToolCallError);
      if (hasStarted && !isInterrupted && isToolsOwn) logFailure(thrown, call, ctx, turn);
      const error = errorText(thrown, hasStarted, isInterrupted);
      const content = cutContent(toErrorContent(error), this.#maxResultChars);
      return { result: { toolCallId, name, result, error, durationMs }, content, isInterrupted };
    }
  }

  #invoke(
    tool: Tool,
    input: unknown,
    contextWith: (signal?: AbortSignal) => ToolContext,
    waits: AbortableWaits,
  ): PromiseLike<unknown> {
    return tool.timeoutMs === undefined
      ? waits.wait(tool.execute(input, contextWith()))
      : this.#executeInTime(tool, tool.timeoutMs, input, contextWith, waits.signal);
  }

  /** Returns the limit of a call; `undefined` if there is none, or the call is refused. */
  limitOf(call: ToolCall): Limit | undefined {
    if (this.#registry.entry(call.name)?.tool.limit === undefined) return undefined;
    try {
      const { tool, input } = this.prepare(call);
      return tool.limit && selectLimit(tool.limit, input, subjectOf(tool));
    } catch (error) {
      if (error instanceof InvalidToolCallError) return undefined;
      throw error;
    }
  }

  /** Returns the tool and the input of a call. @throws {InvalidToolCallError} */
  prepare(call: ToolCall): { tool: Tool; input: unknown } {
    const entry = this.#registry.entry(call.name);
    if (entry === undefined) {
      const { names } = this.#registry;
      const available = names.length === 0 ? 'there are no tools' : `available: ${names.join(', ')}`;
      throw new InvalidToolCallError(
        'the model called a tool that does not exist',
        `there is no tool ${quote(call.name)}; ${available}`,
      );
    }
    const input = parseArguments(call);
    const issues = entry.check(input);
    if (issues.length > 0) throw invalidArguments(call.name, issues);
    return { tool: entry.tool, input };
  }

  async #executeInTime(
    tool: Tool,
    timeoutMs: number,
    input: unknown,
    contextWith: (signal: AbortSignal) => ToolContext,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const controller = new AbortController();
    const abort = (): void => controller.abort(signal?.reason);
    signal?.addEventListener('abort', abort);
    const timer = this.#clock.after(timeoutMs, () => controller.abort(new ToolTimeoutError(tool.name, timeoutMs)));
    try {
      return await abortable(tool.execute(input, contextWith(controller.signal)), controller.signal);
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', abort);
    }
  }
}

function subjectOf({ name }: Tool): string {
  return `limit of tool ${quote(name)}`;
}

function errorText(thrown: unknown, hasStarted: boolean, isInterrupted: boolean): string {
  const message = thrown instanceof InvalidToolCallError ? thrown.forModel : messageOf(thrown);
  if (!hasStarted) return isInterrupted ? `not executed: ${message}` : message;
  if (isInterrupted) return `interrupted: ${message}; ${unknownEffect}`;
  return thrown instanceof ToolTimeoutError ? `${message}; ${unknownEffect}` : message;
}

/** Logs the error of a tool's own code: only the model receives it otherwise, and without its stack. */
function logFailure(err: unknown, call: ToolCall, ctx: AgentContext, turn: number | undefined): void {
  contextOfCall(ctx, call).logger.warn({ err, turn }, `tool ${quote(call.name)} failed`);
}

/** Parses the arguments of a call. @throws {InvalidToolCallError} */
export function parseArguments({ name, arguments: text }: ToolCall): unknown {
  try {
    // A tool that copies or merges its input would get a prototype that the model chose.
    return parseWithoutPrototypes(text);
  } catch (cause) {
    if (text.trim() === '') return {};
    const message = `the arguments of ${name} are not JSON`;
    throw new InvalidToolCallError(message, `${message}: ${messageOf(cause)}`);
  }
}

/**
 * Converts a tool's result into the content of its tool message: a string unchanged, any other value as JSON.
 * `undefined` becomes `null`, and a bigint becomes a string.
 *
 * @throws {ToolResultNotJsonError} if the value has no JSON form, such as a circular object
 */
function toResultContent(value: unknown, toolName: string): string {
  if (typeof value === 'string') return value;
  try {
    // JSON.stringify returns undefined for functions and symbols as well.
    return JSON.stringify(value) ?? 'null';
  } catch {
    // A replacer is slow, and few results contain a bigint.
    return toTolerantJson(value, toolName);
  }
}

function toTolerantJson(value: unknown, toolName: string): string {
  try {
    return JSON.stringify(value, bigintAsString) ?? 'null';
  } catch (cause) {
    throw new ToolResultNotJsonError(toolName, messageOf(cause), cause);
  }
}

/**
 * Cuts the content of a tool message to `maxChars`, and adds a note about the missing part for the model.
 */
export function cutContent(content: string, maxChars: number): string {
  if (content.length <= maxChars) return content;
  const kept = cutText(content, maxChars);
  return `${kept}\n\n[The result is cut: ${content.length - kept.length} of ${content.length} characters are missing.]`;
}

const errorPrefix = 'Error: ';

/** Converts the error of a failed call into the content of its tool message. */
export function toErrorContent(error: string): string {
  return errorPrefix + error;
}

/** Returns `true` for the content of a failed call. A tool may return such a text too, and then reports an error. */
export function isErrorContent(content: string): boolean {
  return content.startsWith(errorPrefix);
}

function bigintAsString(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}

/** Decision on a call that waited until the code had no approvals any more. */
export const nobodyDecides: ApprovalDecision = {
  approved: false,
  reason: 'nobody can approve it any more; call it again if that is still necessary',
};

/** Returns the error of an interrupted call that needs approval now, and needed none when the model made it. */
export function changed({ name }: ToolCall): string {
  return `interrupted: ${unknownEffect}, and ${name} needs approval now; call it again if that is still necessary`;
}

/** Returns a call that is not executed. @param error error that the model receives */
export function refused({ id, name }: ToolCall, error: string): ExecutedCall {
  const result = { toolCallId: id, name, result: null, error, durationMs: 0 };
  return { result, content: toErrorContent(error), isInterrupted: false };
}

/** Returns why the calls of an answer must not be executed; `undefined` if they may be. */
export function refusalReason(isTruncated: boolean, isOverBudget: boolean): string | undefined {
  if (isOverBudget) return 'not executed: the token budget is used up';
  if (isTruncated) {
    return 'not executed: the answer reached its token limit, so its calls may be incomplete; request fewer calls at once';
  }
  return undefined;
}
