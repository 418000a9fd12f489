import { messageOf, quote } from '../errors.js';
import { type Clock, systemClock } from '../transports/clock.js';
import { abortable } from './abortable.js';
import { type AgentContext, withSignal } from './agent-context.js';
import { ToolTimeoutError } from './errors.js';
import { observeTool } from './gen-ai-operations.js';
import type { ToolCall } from './message.js';
import type { Tool, ToolResult } from './tool.js';
import type { ToolRegistry } from './tool-registry.js';
import { toErrorText, toJsonText } from './tool-result-text.js';

/** Settings of a {@link ToolExecutor}. */
export interface ToolExecutorOptions {
  /** Calls running at once. @default no limit */
  maxParallel?: number;
  /** @default systemClock */
  clock?: Clock;
}

interface Executed {
  readonly result: ToolResult;
  readonly content: string;
}

/** Runs what a model asks for. Never rejects: whatever goes wrong with a call is that call's `error`. */
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
   * Runs the calls of one turn in parallel and resolves with one result a call, in their order.
   *
   * @param signal once it aborts, calls that have not ended are given up
   * @param onResult told of each result as it comes, with the text for the model and the call's index
   */
  async executeAll(
    toolCalls: readonly ToolCall[],
    ctx: AgentContext,
    signal?: AbortSignal,
    onResult?: (result: ToolResult, content: string, index: number) => void,
  ): Promise<ToolResult[]> {
    const results: ToolResult[] = [];
    const run = async (call: ToolCall, index: number): Promise<void> => {
      const { result, content } = await this.#execute(call, ctx, signal);
      results[index] = result;
      onResult?.(result, content, index);
    };
    if (toolCalls.length <= this.#maxParallel) {
      await Promise.all(toolCalls.map(run));
      return results;
    }
    const waiting = toolCalls.entries();
    const work = async (): Promise<void> => {
      // All workers take from one iterator.
      for (const [index, call] of waiting) await run(call, index);
    };
    await Promise.all(Array.from({ length: this.#maxParallel }, work));
    return results;
  }

  async #execute(call: ToolCall, ctx: AgentContext, signal: AbortSignal | undefined): Promise<Executed> {
    const startedAt = this.#clock.monotonic();
    const { id: toolCallId, name } = call;
    // Kept where writing it as JSON fails.
    let result: unknown = null;
    try {
      signal?.throwIfAborted();
      result = await observeTool(call, ctx, () => this.#invoke(call, ctx, signal));
      const content = toJsonText(result, name);
      return { result: { toolCallId, name, result, durationMs: this.#clock.monotonic() - startedAt }, content };
    } catch (thrown) {
      const error = messageOf(thrown);
      const durationMs = this.#clock.monotonic() - startedAt;
      return { result: { toolCallId, name, result, error, durationMs }, content: toErrorText(error) };
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
      throw new Error(
        `there is no tool ${quote(call.name)}; ${names.length === 0 ? 'there are no tools' : `available: ${names.join(', ')}`}`,
      );
    }
    const input = parseArguments(call);
    const issues = entry.check(input);
    if (issues.length > 0) {
      const listed = issues.map(({ path, message }) => `${path} ${message}`).join('; ');
      throw new Error(`the arguments of ${call.name} do not fit its parameters: ${listed}`);
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
    const passOn = (): void => controller.abort(signal?.reason);
    signal?.addEventListener('abort', passOn);
    const timer = this.#clock.after(timeoutMs, () => controller.abort(new ToolTimeoutError(tool.name, timeoutMs)));
    try {
      return await abortable(tool.execute(input, withSignal(ctx, controller.signal)), controller.signal);
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', passOn);
    }
  }
}

function parseArguments({ name, arguments: text }: ToolCall): unknown {
  if (text.trim() === '') return {};
  try {
    // Only then can the key be in it, escaped or not.
    return JSON.parse(text, text.includes('__proto__') || text.includes('\\u') ? refusePrototype : undefined);
  } catch (cause) {
    throw new Error(`the arguments of ${name} are not JSON: ${messageOf(cause)}`, { cause });
  }
}

/** A tool that copies or merges its input would take on a prototype of the model's making. */
function refusePrototype(key: string, value: unknown): unknown {
  if (key === '__proto__') throw new SyntaxError('the key "__proto__" is not allowed');
  return value;
}
