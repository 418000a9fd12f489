import { describe, InvalidOptionError } from '../errors.js';
import { compileJsonSchema, type JsonSchemaCheck } from '../json-schema.js';
import { DuplicateToolError } from './errors.js';
import type { Tool, ToolDefinition } from './tool.js';

/** A tool with its compiled schema. */
export interface RegisteredTool {
  readonly tool: Tool;
  /** What is wrong with arguments; empty where they fit. */
  readonly check: JsonSchemaCheck;
}

/** The tools of one agent, each with its schema compiled. */
export class ToolRegistry {
  // A Map, so that `constructor` is no tool.
  readonly #tools = new Map<string, RegisteredTool>();
  #definitions: ToolDefinition[] = [];

  /** @throws {InvalidOptionError | InvalidSchemaError | DuplicateToolError} */
  register(tool: Tool): void {
    assertTool(tool);
    if (this.#tools.has(tool.name)) throw new DuplicateToolError(tool.name);
    this.#tools.set(tool.name, { tool, check: checkOf(tool) });
    const { name, description, parameters } = tool;
    this.#definitions = [...this.#definitions, { name, description, parameters }];
  }

  get(name: string): Tool | undefined {
    return this.#tools.get(name)?.tool;
  }

  /** A tool with its compiled schema. */
  entry(name: string): RegisteredTool | undefined {
    return this.#tools.get(name);
  }

  /** What a model is told: the same array until a tool is registered. */
  getDefinitions(): ToolDefinition[] {
    return this.#definitions;
  }
}

// Agents made for one request each share their tools' schemas, which are slow to compile.
const checks = new WeakMap<object, JsonSchemaCheck>();

function checkOf({ name, parameters }: Tool): JsonSchemaCheck {
  let check = checks.get(parameters);
  if (check === undefined) {
    check = compileJsonSchema(parameters, `the parameters of tool "${name}"`, 'arguments');
    checks.set(parameters, check);
  }
  return check;
}

function assertTool(tool: Tool): void {
  if (typeof tool !== 'object' || tool === null) throw new InvalidOptionError('a tool', 'an object', tool);
  const { name, description, parameters, execute, timeoutMs } = tool;
  const check = (ok: boolean, field: string, expected: string, got: unknown): void => {
    if (!ok) throw new InvalidOptionError(`${field} of tool ${describe(name)}`, expected, got);
  };
  check(typeof name === 'string' && /^[\w-]{1,64}$/.test(name), 'name', '1 to 64 letters, digits, _ or -', name);
  check(typeof description === 'string', 'description', 'a string', description);
  check(
    typeof parameters === 'object' && parameters !== null && !Array.isArray(parameters),
    'parameters',
    'a JSON Schema object',
    parameters,
  );
  check(typeof execute === 'function', 'execute', 'a function', execute);
  check(
    timeoutMs === undefined || (Number.isFinite(timeoutMs) && timeoutMs > 0),
    'timeoutMs',
    'a number of milliseconds above 0',
    timeoutMs,
  );
}
