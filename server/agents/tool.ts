import type { AgentContext } from './agent-context.js';

/** What a model is told of a tool. */
export interface ToolDefinition {
  /** 1 to 64 letters, digits, `_` or `-`: what every vendor accepts. */
  name: string;
  description: string;
  /** JSON Schema of the arguments: draft 2020-12, or draft-07 where its `$schema` says so. */
  parameters: Record<string, unknown>;
}

/** Something that a model may have done. */
export interface Tool<TInput = unknown, TOutput = unknown> extends ToolDefinition {
  /**
   * Does it. `input` fits `parameters`. What it returns goes to the model as JSON, a string as it is;
   * what it throws goes to the model as an error, and the run goes on.
   */
  // A method, not a property: so that a tool of a narrower input type fits into `Tool[]`.
  execute(input: TInput, ctx: AgentContext): Promise<TOutput>;
  /** Milliseconds before the call is given up and `ctx.signal` aborts. @default no limit */
  timeoutMs?: number;
}

/** What became of one tool call. */
export interface ToolResult {
  toolCallId: string;
  name: string;
  /** What `execute` returned, as it is, also where it could not be written as JSON; `null` of any other `error`. */
  result: unknown;
  /** What went wrong, as the model is told it. */
  error?: string;
  /** Milliseconds from the call to its result; 0 of a call that was not carried out. */
  durationMs: number;
}

/**
 * Returns `tool`; it only lets the compiler infer the input and output types.
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
