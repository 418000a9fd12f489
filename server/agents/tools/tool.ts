import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import { describe, InvalidOptionError } from '../../errors.js';
import { isStandardSchema, resolveSchema } from '../../hub/events/payload-schema.js';
import type { Limit } from '../../hub/limits/limit.js';
import type { AgentContext, ToolContext } from '../agent/agent-context.js';
import { invalidArguments } from '../errors.js';
import type { ToolDefinition } from '../model/message.js';

/** Function that a model can call. */
export interface Tool<TInput = unknown, TOutput = unknown> extends ToolDefinition {
  /**
   * Executes the call. `input` is valid for `parameters`. The model receives the returned value as JSON, and a string
   * unchanged. If the function throws, the model receives the error and the run continues.
   */
  // A method and not a property, so that a tool with a narrower input type is assignable to `Tool`.
  execute(input: TInput, ctx: AgentContext): Promise<TOutput>;
  /**
   * `false` if an interrupted call must not be executed again when a retry resumes its run. The model is then informed
   * that the call may have been executed. Otherwise the call is executed again with the same `ctx.callKey`.
   * @default true
   */
  retryable?: boolean;
  /** Milliseconds until the call fails and `ctx.signal` aborts. @default no limit */
  timeoutMs?: number;
  /**
   * Limit that each execution takes a permit of, or a function that returns it for a call. A durable run that has to wait
   * for more than a second holds no process meanwhile; other runs wait. Without a hub the limit holds within the process.
   * @default no limit
   */
  // A method, for the same reason as `execute`.
  limit?: Limit | LimitedCall<TInput>['limit'];
  /**
   * `true` if a call is executed only after somebody approved it, or a function that returns `true` for such a call. If
   * the function throws, the call needs approval. Who decides: `approvals` of `asHandler`, or `onApproval` of `run`.
   * @default false
   */
  // A method, for the same reason as `execute`.
  needsApproval?: boolean | NeedsApproval<TInput>['needsApproval'];
}

/** Selects the limit of a call. */
export interface LimitedCall<TInput> {
  /** Returns the limit, such as `vendor.for(input.tenant)`. */
  limit(input: TInput): Limit;
}

/** Decides if a call needs approval. */
export interface NeedsApproval<TInput> {
  /** Returns `true` if the call needs approval. */
  needsApproval(input: TInput, ctx: AgentContext): boolean | Promise<boolean>;
}

/** Options of {@link createTool}. */
export interface ToolOptions<TInput, TOutput> extends Omit<Tool, 'parameters' | 'execute' | 'needsApproval' | 'limit'> {
  /** Executes the call, see {@link Tool.execute}. With a schema in `parameters`, it may be synchronous. */
  execute: (input: TInput, ctx: ToolContext) => TOutput;
  /** See {@link Tool.limit}. The function receives the input before the schema's transforms. @default no limit */
  limit?: Limit | LimitedCall<unknown>['limit'];
  /** See {@link Tool.needsApproval}. @default false */
  needsApproval?: boolean | NeedsApproval<NoInfer<TInput>>['needsApproval'];
}

/** Standard Schema that converts itself to JSON Schema, such as one of Zod 4.2 or ArkType 2.1.28. */
export interface JsonStandardSchema<TInput = unknown, TOutput = TInput> {
  readonly '~standard': StandardSchemaV1.Props<TInput, TOutput> & StandardJSONSchemaV1.Props<TInput, TOutput>;
}

/**
 * Creates a tool, and infers its input from `parameters` and its output from `execute`. `parameters` is a schema of
 * Zod, ArkType or another library that implements Standard JSON Schema; or another Standard Schema with its JSON Schema
 * beside it as `jsonSchema`; or a JSON Schema: `execute` then declares the type of its input, and the tool is returned
 * unchanged.
 *
 * @example
 * const weather = createTool({
 *   name: 'weather',
 *   description: 'Current weather of a city',
 *   parameters: z.object({ city: z.string() }),
 *   execute: ({ city }) => ({ city, celsius: 21 }),
 * });
 *
 * @throws {InvalidOptionError | InvalidSchemaError}
 */
export function createTool<TOutput, TParsed, TInput>(
  tool: ToolOptions<TParsed, TOutput> & { parameters: JsonStandardSchema<TInput, TParsed> },
): Tool<TInput, Awaited<TOutput>>;
export function createTool<TOutput, TParsed, TInput>(
  tool: ToolOptions<TParsed, TOutput> & {
    parameters: StandardSchemaV1<TInput, TParsed>;
    /** JSON Schema of `parameters`, for a library that cannot convert its schemas. */
    jsonSchema: Record<string, unknown>;
  },
): Tool<TInput, Awaited<TOutput>>;
export function createTool<TInput, TOutput>(
  tool: ToolOptions<TInput, Promise<TOutput>> & { parameters: Record<string, unknown> },
): Tool<TInput, TOutput>;
export function createTool(
  options: ToolOptions<never, unknown> & {
    parameters: StandardSchemaV1 | Record<string, unknown>;
    jsonSchema?: Record<string, unknown>;
  },
): Tool {
  // The overloads ensure that it is a tool. A copy would lose the getters and private fields of an instance.
  if (!isStandardSchema(options.parameters)) return options as Tool;
  const { parameters, jsonSchema, needsApproval, ...tool } = options;
  // The overloads ensure that the input has the type that `execute` takes.
  const execute = options.execute as (input: unknown, ctx: AgentContext) => unknown;
  // Called as a method, because a tool may read its own fields through `this`.
  const call = (input: unknown, ctx: AgentContext): Promise<unknown> => {
    try {
      const result = execute.call(options, input, ctx);
      return result instanceof Promise ? result : Promise.resolve(result);
    } catch (error) {
      return Promise.reject(error);
    }
  };
  const asks =
    typeof needsApproval === 'function'
      ? (needsApproval as (input: unknown, ctx: AgentContext) => boolean | Promise<boolean>).bind(options)
      : needsApproval;
  const owner = `tool ${describe(tool.name)}`;
  const schema = resolveSchema(parameters, owner, 'arguments');
  const json = jsonSchema ?? schema.jsonSchema;
  if (json === undefined) {
    throw new InvalidOptionError(
      `jsonSchema of ${owner}`,
      'the JSON Schema of parameters, which cannot be converted',
      json,
    );
  }
  // Vendors validate the schema, and some do not know this keyword.
  const { $schema: _dialect, ...sent } = json;
  const asksParsed = async (input: unknown, ctx: AgentContext): Promise<boolean> => {
    const result = await schema.validate(input);
    // Not executed either, even if the schema accepts the input later: nobody was asked.
    if (result.issues !== undefined) throw invalidArguments(tool.name, result.issues);
    return typeof asks === 'function' && (await asks(result.value, ctx));
  };
  return {
    ...tool,
    ...(asks !== undefined && { needsApproval: typeof asks === 'function' ? asksParsed : asks }),
    parameters: sent,
    async execute(input, ctx) {
      const result = await schema.validate(input);
      if (result.issues !== undefined) throw invalidArguments(tool.name, result.issues);
      return call(result.value, ctx);
    },
  };
}
