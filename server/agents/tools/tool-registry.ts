import { describe, InvalidOptionError } from '../../errors.js';
import { compileJsonSchema, type JsonSchemaCheck } from '../../json-schema/json-schema.js';
import { OptionChecker } from '../../options.js';
import { DuplicateToolError } from '../errors.js';
import type { ToolDefinition } from '../model/message.js';
import type { Tool } from './tool.js';

/** A tool with its compiled schema. */
export interface RegisteredTool {
  readonly tool: Tool;
  /** Returns the issues of arguments. */
  readonly check: JsonSchemaCheck;
}

/** Tools of one agent, each with its compiled schema. */
export class ToolRegistry {
  // A Map, so that `constructor` is not found as a tool.
  readonly #tools = new Map<string, RegisteredTool>();
  #definitions: ToolDefinition[] = [];
  /** A tool may need approval. */
  asksForApproval = false;

  /** Adds a tool. @throws {InvalidOptionError | InvalidSchemaError | DuplicateToolError} */
  register(tool: Tool): void {
    checkTool(tool);
    if (this.#tools.has(tool.name)) throw new DuplicateToolError(tool.name);
    this.#tools.set(tool.name, { tool, check: checkOf(tool) });
    if (tool.needsApproval !== undefined && tool.needsApproval !== false) this.asksForApproval = true;
    const { name, description, parameters } = tool;
    this.#definitions = [...this.#definitions, { name, description, parameters }];
  }

  get(name: string): Tool | undefined {
    return this.#tools.get(name)?.tool;
  }

  /** Returns a tool with its compiled schema. */
  entry(name: string): RegisteredTool | undefined {
    return this.#tools.get(name);
  }

  /** Returns the definitions that the model receives: the same array until another tool is registered. */
  getDefinitions(): ToolDefinition[] {
    return this.#definitions;
  }
}

// Compiling is slow, and an application may create an agent with the same tools per request.
const checks = new WeakMap<object, JsonSchemaCheck>();

function checkOf({ name, parameters }: Tool): JsonSchemaCheck {
  let check = checks.get(parameters);
  if (check === undefined) {
    check = compileJsonSchema(parameters, `the parameters of tool "${name}"`, 'arguments');
    checks.set(parameters, check);
  }
  return check;
}

function checkTool(tool: Tool): void {
  if (typeof tool !== 'object' || tool === null) throw new InvalidOptionError('a tool', 'an object', tool);
  // A tool may have further fields, which `execute` reads through `this`.
  const check = new OptionChecker(tool, Object.keys(tool), `tool ${describe(tool.name)}`);
  const { name, description, parameters, execute, timeoutMs, retryable, needsApproval } = tool;
  check.that(typeof name === 'string' && /^[\w-]{1,64}$/.test(name), 'name', '1 to 64 letters, digits, _ or -', name);
  check.that(typeof description === 'string', 'description', 'a string', description);
  check.that(
    typeof parameters === 'object' && parameters !== null && !Array.isArray(parameters),
    'parameters',
    'a JSON Schema object',
    parameters,
  );
  check.that(typeof execute === 'function', 'execute', 'a function', execute);
  check.durationMs('timeoutMs', timeoutMs, { min: 1 });
  check.boolean('retryable', retryable);
  const isRule = needsApproval === undefined || ['boolean', 'function'].includes(typeof needsApproval);
  check.that(isRule, 'needsApproval', 'a boolean or a function', needsApproval);
}
