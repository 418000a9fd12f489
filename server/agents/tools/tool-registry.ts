import { describe, InvalidOptionError } from '../../errors.js';
import { checkLimit } from '../../hub/limits/limit.js';
import { compileJsonSchema, type JsonSchemaCheck, type JsonSchemaOptions } from '../../json-schema.js';
import { OptionChecker } from '../../options.js';
import { DuplicateToolError } from '../errors.js';
import { wellFormed } from '../model/foreign-values.js';
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
    const { check, sent } = schemaOf(tool);
    this.#tools.set(tool.name, { tool, check });
    if (tool.needsApproval !== undefined && tool.needsApproval !== false) this.asksForApproval = true;
    const { name, description } = tool;
    this.#definitions = [...this.#definitions, { name, description: wellFormed(description), parameters: sent }];
  }

  /**
   * Adds a definition that the model is offered and the agent has no tool for: a call of it is answered like that of an
   * unknown tool.
   *
   * @throws {InvalidOptionError | DuplicateToolError}
   */
  offer(definition: ToolDefinition): void {
    checkDefinition(definition);
    const { name, description, parameters } = definition;
    if (this.#definitions.some((other) => other.name === name)) throw new DuplicateToolError(name);
    this.#definitions = [...this.#definitions, { name, description, parameters }];
  }

  /** Names of the tools that can be called. */
  get names(): string[] {
    return [...this.#tools.keys()];
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

/** Parameters of a tool, prepared for validation and for the model. */
interface ToolSchema {
  readonly check: JsonSchemaCheck;
  readonly sent: ToolDefinition['parameters'];
}

// Compiling is slow, and an application may create an agent with the same tools per request.
const schemas = new WeakMap<object, ToolSchema>();

/**
 * Compiles the parameters of a tool that a stranger describes, before it is registered: without their regular
 * expressions, which may take exponential time.
 *
 * @throws {InvalidSchemaError}
 */
export function compileForeignSchema(tool: Tool): void {
  schemaOf(tool, { evaluatesPatterns: false });
}

function schemaOf({ name, parameters }: Tool, options?: JsonSchemaOptions): ToolSchema {
  let schema = schemas.get(parameters);
  if (schema === undefined) {
    const check = compileJsonSchema(parameters, `the parameters of tool "${name}"`, 'arguments', options);
    schema = { check, sent: wellFormed(parameters) };
    schemas.set(parameters, schema);
  }
  return schema;
}

function checkTool(tool: Tool): void {
  const check = checkDefinition(tool);
  const { execute, timeoutMs, retryable, needsApproval, limit } = tool;
  check.that(typeof execute === 'function', 'execute', 'a function', execute);
  check.durationMs('timeoutMs', timeoutMs, { min: 1 });
  check.boolean('retryable', retryable);
  if (limit !== undefined && typeof limit !== 'function') checkLimit(limit, `limit of tool ${describe(tool.name)}`);
  const isRule = needsApproval === undefined || ['boolean', 'function'].includes(typeof needsApproval);
  check.that(isRule, 'needsApproval', 'a boolean or a function', needsApproval);
}

const otherTypes: readonly unknown[] = ['string', 'number', 'integer', 'boolean', 'array', 'null'];

function checkDefinition(tool: ToolDefinition): OptionChecker {
  if (typeof tool !== 'object' || tool === null) throw new InvalidOptionError('a tool', 'an object', tool);
  // A tool may have further fields, which `execute` reads through `this`.
  const check = new OptionChecker(tool, Object.keys(tool), `tool ${describe(tool.name)}`);
  const { name, description, parameters } = tool;
  check.that(typeof name === 'string' && /^[\w-]{1,64}$/.test(name), 'name', '1 to 64 letters, digits, _ or -', name);
  check.that(typeof description === 'string', 'description', 'a string', description);
  check.that(
    typeof parameters === 'object' && parameters !== null && !Array.isArray(parameters),
    'parameters',
    'a JSON Schema object',
    parameters,
  );
  const { type } = parameters;
  const excludesObjects = type !== undefined && [type].flat().every((each) => otherTypes.includes(each));
  check.that(!excludesObjects, 'parameters.type', '"object": models pass arguments by name', type);
  return check;
}

/** Tools of one group within the tools of an agent. */
interface Members {
  readonly group: ToolGroup;
  /** Names that the agent was given; `undefined` if it was given the whole group, so that it receives new tools too. */
  readonly names: ReadonlySet<string> | undefined;
}

/**
 * The tools that an agent was given, as they are now: a tool of a group is replaced by its latest version, and left out
 * if the group no longer has it.
 */
export class ToolList {
  readonly #given: readonly Tool[];
  readonly #members: ReadonlyMap<ToolGroup, Members>;
  #seen: readonly (readonly Tool[])[];
  #current: readonly Tool[];

  constructor(given: readonly Tool[]) {
    this.#given = [...given];
    const groups = new Set(given.map((tool) => groupOf(tool)).filter((group) => group !== undefined));
    this.#members = new Map([...groups].map((group) => [group, membersOf(group, given)]));
    this.#seen = [...groups].map(({ tools }) => tools);
    this.#current = this.#given;
  }

  /** Returns the current tools: the same array until a group changes. */
  get current(): readonly Tool[] {
    if (this.#members.size === 0) return this.#given;
    const now = [...this.#members.keys()].map(({ tools }) => tools);
    if (now.some((tools, index) => tools !== this.#seen[index])) {
      this.#seen = now;
      this.#current = this.#expand();
    }
    return this.#current;
  }

  #expand(): readonly Tool[] {
    const own = this.#given.filter((tool) => groupOf(tool) === undefined);
    const names = new Set(own.map(({ name }) => name));
    const tools = [...own];
    for (const { group, names: wanted } of this.#members.values()) {
      for (const tool of group.tools) {
        // A server must neither replace a tool of the agent nor make its next run fail with a name that is taken.
        if (names.has(tool.name) || wanted?.has(tool.name) === false) continue;
        names.add(tool.name);
        tools.push(tool);
      }
    }
    return tools;
  }
}

function membersOf(group: ToolGroup, given: readonly Tool[]): Members {
  const own = given.filter((tool) => groupOf(tool) === group);
  const isWhole = group.tools.every((tool) => own.includes(tool));
  return { group, names: isWhole ? undefined : new Set(own.map(({ name }) => name)) };
}

/** Tools of one origin, such as an MCP server, whose list can change between two runs. */
export interface ToolGroup {
  /** Current tools: the same array until the list changes. */
  readonly tools: readonly Tool[];
}

const groups = new WeakMap<Tool, ToolGroup>();

/** Records the group of a tool, for {@link groupOf}. Returns the tool. */
export function memberOf(group: ToolGroup, tool: Tool): Tool {
  groups.set(tool, group);
  return tool;
}

/** Returns the group of a tool. A copy of the tool belongs to none. */
function groupOf(tool: Tool): ToolGroup | undefined {
  return groups.get(tool);
}
