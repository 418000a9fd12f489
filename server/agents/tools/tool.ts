import type { AgentContext } from '../agent/agent-context.js';
import type { ToolDefinition } from '../model/message.js';

/** Function that a model can call. */
export interface Tool<TInput = unknown, TOutput = unknown> extends ToolDefinition {
  /**
   * Executes the call. `input` is valid for `parameters`. The model receives the returned value as JSON, and a string
   * unchanged. If the function throws, the model receives the error and the run continues.
   */
  // A method and not a property, so that a tool with a narrower input type is assignable to `Tool`.
  execute(input: TInput, ctx: AgentContext): Promise<TOutput>;
  /** Milliseconds until the call fails and `ctx.signal` aborts. @default no limit */
  timeoutMs?: number;
}

/**
 * Returns `tool` unchanged, and lets the compiler infer its input and output types.
 *
 * @example
 * const weather = createTool({
 *   name: 'weather',
 *   description: 'Current weather of a city',
 *   parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
 *   execute: async ({ city }: { city: string }) => ({ city, celsius: 21 }),
 * });
 */
export function createTool<TInput, TOutput>(tool: Tool<TInput, TOutput>): Tool<TInput, TOutput> {
  return tool;
}
