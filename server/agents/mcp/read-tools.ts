/** Tool as its server describes it. */
export interface ServerTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** The tool declares itself read-only or idempotent. */
  readonly isRepeatable: boolean;
  /** Description as JSON, to find out if it changed. */
  readonly json: string;
}

/** Limits of a list of tools. */
interface ListLimits {
  /** Names of the tools to read. */
  readonly allow: ReadonlySet<string> | undefined;
  readonly maxTools: number;
  /** Maximum number of characters of all tools. */
  readonly maxChars: number;
  /** Maximum number of characters of one tool. */
  readonly maxToolChars: number;
}

/** List of tools as read. */
export interface ReadTools {
  readonly tools: readonly ServerTool[];
  /** Number of tools that were left out. */
  readonly omitted: number;
}

/** Reads the tools that a server listed. Leaves out those that have another form, cannot be called or exceed a limit. */
export function readTools(
  listed: readonly unknown[],
  { allow, maxTools, maxChars, maxToolChars }: ListLimits,
): ReadTools {
  const tools: ServerTool[] = [];
  let omitted = 0;
  let chars = 0;
  for (const described of listed) {
    const { name, execution } = fieldsOf(described);
    if (allow !== undefined && !(typeof name === 'string' && allow.has(name))) continue;
    // Few servers have tools that need tasks, and none of them expects every client to call those.
    if (fieldsOf(execution)['taskSupport'] === 'required') continue;
    const tool = tools.length < maxTools ? readTool(described) : undefined;
    if (tool === undefined || tool.json.length > Math.min(maxToolChars, maxChars - chars)) {
      omitted += 1;
    } else {
      chars += tool.json.length;
      tools.push(tool);
    }
  }
  return { tools, omitted };
}

function readTool(described: unknown): ServerTool | undefined {
  const { name, title, description, inputSchema, annotations } = fieldsOf(described);
  const { type = 'object', ...schema } = fieldsOf(inputSchema);
  if (typeof name !== 'string' || name === '' || type !== 'object' || !isRecord(inputSchema)) return undefined;
  const { readOnlyHint, idempotentHint } = fieldsOf(annotations);
  const tool = {
    name,
    description: [description, title].find((text) => typeof text === 'string') ?? '',
    // Vendors require both fields.
    inputSchema: { type, properties: {}, ...schema },
    isRepeatable: readOnlyHint === true || idempotentHint === true,
  };
  const json = jsonOf(tool);
  return json === undefined ? undefined : { ...tool, json };
}

/** Returns the JSON of a value, or `undefined` if it is deeper than the stack. */
export function jsonOf(value: object): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}
