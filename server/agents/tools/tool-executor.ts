import { messageOf, quote } from '../../errors.js';
import { type Clock, systemClock } from '../../transports/clock.js';
import { abortable } from '../abortable.js';
import { type AgentContext, withSignal } from '../agent/agent-context.js';
import { InvalidToolCallError, ToolTimeoutError } from '../errors.js';
import type { ToolCall, ToolResult } from '../model/message.js';
import { observeTool } from '../observability/gen-ai-operations.js';
import type { Tool } from './tool.js';
import { toErrorContent, toResultContent } from './tool-content.js';
import type { ToolRegistry } from './tool-registry.js';

/** Options of a {@link ToolExecutor}. */
export interface ToolExecutorOptions {
  /** Maximum number of calls that run at the same time. @default no limit */
  maxParallel?: number;
  /** @default systemClock */
  clock?: Clock;
}

interface Executed {
  readonly result: ToolResult;
  readonly content: string;
}

/** Executes the tool calls of a model. Never rejects: the error of a call becomes the `error` of its result. */
export class ToolExecutor {
  readonly #registry: ToolRegistry;
  readonly #maxParallel: number;
  readonly #clock: Clock;

  constructor(
    registry: ToolRegistry,
    { maxParallel = Number.POSITIVE_INFINITY, clock = systemClock }: ToolExecutorOptions = {},
  ) {
    this.#registry = registry;
    this.#maxParallel = maxParallel;
    this.#clock = clock;
  }

  /**
   * Executes the calls of one turn in parallel, and resolves with one result per call, in the order of the calls.
   *
   * @param signal aborts the calls that are still running
   * @param onResult called for each result as soon as it is available, with the content of its tool message
   */
  async executeAll(
    toolCalls: readonly ToolCall[],
    ctx: AgentContext,
    signal?: AbortSignal,
    onResult?: (result: ToolResult, content: string) => void,
  ): Promise<ToolResult[]> {
    const results: ToolResult[] = [];
    const run = async (call: ToolCall, index: number): Promise<void> => {
      const { result, content } = await this.#execute(call, ctx, signal);
      results[index] = result;
      onResult?.(result, content);
    };
    if (toolCalls.length <= this.#maxParallel) {
      await Promise.all(toolCalls.map(run));
      return results;
    }
    const waiting = toolCalls.entries();
    const work = async (): Promise<void> => {
      // All workers share one iterator.
      for (const [index, call] of waiting) await run(call, index);
    };
    await Promise.all(Array.from({ length: this.#maxParallel }, work));
    return results;
  }

  async #execute(call: ToolCall, ctx: AgentContext, signal: AbortSignal | undefined): Promise<Executed> {
    const startedAt = this.#clock.monotonic();
    const { id: toolCallId, name } = call;
    // Retained if the conversion to JSON fails.
    let result: unknown = null;
    try {
      signal?.throwIfAborted();
      result = await observeTool(call, ctx, () => this.#invoke(call, ctx, signal));
      const content = toResultContent(result, name);
      return { result: { toolCallId, name, result, durationMs: this.#clock.monotonic() - startedAt }, content };
    } catch (thrown) {
      const error = messageOf(thrown);
      const durationMs = this.#clock.monotonic() - startedAt;
      return { result: { toolCallId, name, result, error, durationMs }, content: toErrorContent(error) };
    }
  }

  #invoke(call: ToolCall, ctx: AgentContext, signal: AbortSignal | undefined): PromiseLike<unknown> {
    const { tool, input } = this.#prepare(call);
    return tool.timeoutMs === undefined
      ? abortable(tool.execute(input, ctx), signal)
      : this.#executeInTime(tool, tool.timeoutMs, input, ctx, signal);
  }

  #prepare(call: ToolCall): { tool: Tool; input: unknown } {
    const entry = this.#registry.entry(call.name);
    if (entry === undefined) {
      const names = this.#registry.getDefinitions().map(({ name }) => name);
      const available = names.length === 0 ? 'there are no tools' : `available: ${names.join(', ')}`;
      throw new InvalidToolCallError(`there is no tool ${quote(call.name)}; ${available}`);
    }
    const input = parseArguments(call);
    const issues = entry.check(input);
    if (issues.length > 0) {
      const listed = issues.map(({ path, message }) => `${path} ${message}`).join('; ');
      throw new InvalidToolCallError(`the arguments of ${call.name} do not match its parameters: ${listed}`);
    }
    return { tool: entry.tool, input };
  }

  async #executeInTime(
    tool: Tool,
    timeoutMs: number,
    input: unknown,
    ctx: AgentContext,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const controller = new AbortController();
    const abort = (): void => controller.abort(signal?.reason);
    signal?.addEventListener('abort', abort);
    const timer = this.#clock.after(timeoutMs, () => controller.abort(new ToolTimeoutError(tool.name, timeoutMs)));
    try {
      return await abortable(tool.execute(input, withSignal(ctx, controller.signal)), controller.signal);
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', abort);
    }
  }
}

function parseArguments({ name, arguments: text }: ToolCall): unknown {
  if (text.trim() === '') return {};
  try {
    // A reviver is slow, and only such a text can contain the key, escaped or not.
    return JSON.parse(text, text.includes('__proto__') || text.includes('\\u') ? refusePrototype : undefined);
  } catch (cause) {
    throw new InvalidToolCallError(`the arguments of ${name} are not JSON: ${messageOf(cause)}`, cause);
  }
}

/** Refuses `__proto__`: a tool that copies or merges its input would get a prototype that the model chose. */
function refusePrototype(key: string, value: unknown): unknown {
  if (key === '__proto__') throw new SyntaxError('the key "__proto__" is not allowed');
  return value;
}
