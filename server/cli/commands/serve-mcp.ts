import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { type Command, InvalidArgumentError, type Option } from 'commander';
import { MissingPackageError } from '../../transports/errors.js';
import { version } from '../../version.js';
import type { CommandContext } from '../command-context.js';
import { exitCodes, type Streams } from '../terminal.js';

/** Options of `hubline mcp` beside those of the store. */
export interface McpFlags {
  /** Acting commands that are tools. */
  readonly allow?: readonly string[];
  /** Offer the options that show payloads. */
  readonly payload?: boolean;
  /** Name for the audit. */
  readonly by: string;
  /** Arguments that name the store. */
  readonly storeArgs: readonly string[];
}

/**
 * Commands as tools: those that read are always there, those that act by `--allow`. Commands that serve, follow or write
 * a file are none.
 */
export const toolCommands: Readonly<Record<string, 'read' | 'act' | 'none'>> = {
  status: 'read',
  events: 'read',
  show: 'read',
  request: 'read',
  'dead-letters': 'read',
  audit: 'read',
  errors: 'read',
  why: 'read',
  search: 'read',
  replay: 'act',
  cancel: 'act',
  fork: 'act',
  pause: 'act',
  resume: 'act',
  approve: 'act',
  refuse: 'act',
  retire: 'act',
  dashboard: 'none',
  demo: 'none',
  export: 'none',
  watch: 'none',
  mcp: 'none',
  migrate: 'none',
};

/** Names of the commands that `--allow` takes. */
export const actingCommands: readonly string[] = Object.entries(toolCommands)
  .filter(([, effect]) => effect === 'act')
  .map(([name]) => name);

/** Reads a list of acting commands. @throws {InvalidArgumentError} */
export function readActing(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !actingCommands.includes(name));
  if (unknown === undefined) return names;
  throw new InvalidArgumentError(`It must be a list of ${actingCommands.join(', ')}.`);
}

/** Options that the server sets, or that have no meaning for a program. */
const ownOptions = ['redis', 'prefix', 'file', 'postgres', 'schema', 'timeout', 'json', 'yes', 'by'];

/** Runs a command with these streams. Returns its exit code. */
export type RunTool = (args: readonly string[], streams: Streams) => Promise<number>;

/** Tool of a coding assistant. */
interface CommandTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { readonly type: 'object'; readonly [key: string]: unknown };
  readonly annotations: { readonly readOnlyHint: boolean; readonly destructiveHint: boolean };
  readonly command: Command;
  readonly options: readonly Option[];
}

/**
 * Serves the commands as tools of the Model Context Protocol over the standard streams, until the input ends or the signal
 * aborts.
 *
 * @throws {MissingPackageError} if `@modelcontextprotocol/sdk` is not installed
 */
export async function serveMcp(
  { signal, terminal }: Pick<CommandContext, 'signal' | 'terminal'>,
  commands: readonly Command[],
  flags: McpFlags,
  run: RunTool,
): Promise<void> {
  const { Server, StdioServerTransport, types } = await importSdk();
  const tools = toolsOf(commands, flags);
  const server = new Server({ name: 'hubline', version }, { capabilities: { tools: {} } });
  server.setRequestHandler(types.ListToolsRequestSchema, () => ({
    tools: tools.map(({ command: _, options: __, ...tool }) => tool),
  }));
  server.setRequestHandler(types.CallToolRequestSchema, async ({ params }) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (tool === undefined) return failure(`There is no tool ${params.name}.`);
    const args = argumentsOf(tool, params.arguments ?? {}, flags);
    return typeof args === 'string' ? failure(args) : callTool(args, run);
  });
  const { stdin, stdout } = terminal.streams;
  const ended = Promise.race([once(stdin, 'end'), once(stdin, 'close'), once(signal, 'abort')]);
  await server.connect(new StdioServerTransport(stdin, stdout));
  if (!signal.aborted) await ended;
  await server.close();
}

/** Loads the SDK, an optional dependency. @throws {MissingPackageError} */
async function importSdk() {
  try {
    const [{ Server }, { StdioServerTransport }, types] = await Promise.all([
      import('@modelcontextprotocol/sdk/server/index.js'),
      import('@modelcontextprotocol/sdk/server/stdio.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ]);
    return { Server, StdioServerTransport, types };
  } catch (cause) {
    throw new MissingPackageError('hubline mcp', '@modelcontextprotocol/sdk@1', cause);
  }
}

function toolsOf(commands: readonly Command[], { allow = [], payload = false }: McpFlags): readonly CommandTool[] {
  const effects: Readonly<Record<string, string>> = toolCommands;
  return commands.flatMap((command) => {
    const name = command.name();
    const effect = effects[name];
    if (effect !== 'read' && !(effect === 'act' && allow.includes(name))) return [];
    const options = command.options.filter((option) => {
      const key = option.attributeName();
      return !ownOptions.includes(key) && (key !== 'payload' || payload);
    });
    const isRead = effect === 'read';
    return {
      name,
      description: command.description(),
      inputSchema: schemaOf(command, options),
      annotations: { readOnlyHint: isRead, destructiveHint: !isRead },
      command,
      options,
    };
  });
}

const text = { type: 'string' } as const;
const texts = { type: 'array', items: text, minItems: 1 } as const;

function schemaOf(command: Command, options: readonly Option[]): CommandTool['inputSchema'] {
  const positional = command.registeredArguments.map((argument) => [
    argument.name(),
    { ...(argument.variadic ? texts : text), description: argument.description || `${argument.name()} of the command` },
  ]);
  const named = options.map((option) => {
    const value = option.isBoolean() ? { type: 'boolean' } : option.variadic ? texts : text;
    return [option.attributeName(), { ...value, description: option.description }];
  });
  return {
    type: 'object',
    properties: Object.fromEntries([...positional, ...named]),
    required: command.registeredArguments.filter((argument) => argument.required).map((argument) => argument.name()),
    additionalProperties: false,
  };
}

/** Returns the arguments of a command; a text if the input is not one that its schema allows. */
function argumentsOf(
  { name, command, options }: CommandTool,
  input: Readonly<Record<string, unknown>>,
  { storeArgs, by }: McpFlags,
): readonly string[] | string {
  const positional = command.registeredArguments.map((argument) => argument.name());
  const unknown = Object.keys(input).find(
    (key) => !positional.includes(key) && !options.some((option) => option.attributeName() === key),
  );
  if (unknown !== undefined) return `${name} takes no ${unknown}.`;
  const named = options.flatMap((option) => {
    const value = input[option.attributeName()];
    if (value === undefined || value === false) return [];
    // After `=`, no value is taken for an option.
    return value === true ? [String(option.long)] : [value].flat().map((each) => `${option.long}=${String(each)}`);
  });
  const has = (key: string): boolean => command.options.some((option) => option.attributeName() === key);
  const own = ['--json', ...(has('yes') ? ['--yes'] : []), ...(has('by') ? [`--by=${by}`] : [])];
  const values = positional.flatMap((key) => (input[key] === undefined ? [] : [input[key]].flat().map(String)));
  return [name, ...named, ...own, ...storeArgs, '--', ...values];
}

interface ToolResult {
  readonly content: { readonly type: 'text'; readonly text: string }[];
  readonly isError: boolean;
  readonly [key: string]: unknown;
}

function failure(message: string): ToolResult {
  return { content: [{ type: 'text', text: message }], isError: true };
}

async function callTool(args: readonly string[], run: RunTool): Promise<ToolResult> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdin.end();
  const [out, err] = [collect(stdout), collect(stderr)];
  const code = await run(args, { stdin, stdout, stderr });
  stdout.end();
  stderr.end();
  const result = [await out, await err].map((part) => part.trim()).filter((part) => part !== '');
  // `status` found a failing hub, which is an answer.
  const isError = code !== 0 && code !== exitCodes.unhealthy;
  return { content: [{ type: 'text', text: result.join('\n') }], isError };
}

async function collect(stream: PassThrough): Promise<string> {
  let read = '';
  for await (const chunk of stream) read += String(chunk);
  return read;
}
