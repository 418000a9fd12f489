import { isRecord, recordOf } from '../model/foreign-values.js';
import type { Part } from '../model/part.js';
import type { McpConnection } from './mcp-connection.js';
import { toPart } from './mcp-content.js';

/** Resource of an MCP server, such as a file or a row. */
export interface McpResource {
  readonly uri: string;
  readonly name: string;
  readonly description?: string;
  readonly mediaType?: string;
  /** Bytes of the content. */
  readonly size?: number;
}

/** Prompt of an MCP server. */
export interface McpPrompt {
  readonly name: string;
  readonly description?: string;
  readonly arguments: readonly McpPromptArgument[];
}

/** Argument of an {@link McpPrompt}. */
export interface McpPromptArgument {
  readonly name: string;
  readonly description?: string;
  readonly isRequired: boolean;
}

/** Maximum number of resources, and of prompts, of one server. */
const maxEntries = 10_000;

/** Returns the resources of a server. Leaves out those of another form. */
export async function listResources(connection: McpConnection): Promise<McpResource[]> {
  const listed = await connection.list('resources');
  return listed.slice(0, maxEntries).flatMap((each): McpResource[] => {
    const { uri, name, title, description, mimeType, size } = recordOf(each);
    if (typeof uri !== 'string') return [];
    return [
      {
        uri,
        name: firstText(title, name) ?? uri,
        ...(typeof description === 'string' && { description }),
        ...(typeof mimeType === 'string' && { mediaType: mimeType }),
        ...(typeof size === 'number' && { size }),
      },
    ];
  });
}

/** Returns the content of a resource. */
export async function readResource(connection: McpConnection, uri: string, timeoutMs: number): Promise<Part[]> {
  const { contents } = await connection.ask('resources/read', { uri }, timeoutMs);
  return Array.isArray(contents) ? contents.map((resource) => toPart({ type: 'resource', resource })) : [];
}

/** Returns the prompts of a server. Leaves out those of another form. */
export async function listPrompts(connection: McpConnection): Promise<McpPrompt[]> {
  const listed = await connection.list('prompts');
  return listed.slice(0, maxEntries).flatMap((each): McpPrompt[] => {
    const { name, description, arguments: expected } = recordOf(each);
    if (typeof name !== 'string') return [];
    const list = Array.isArray(expected) ? expected.flatMap(toArgument) : [];
    return [{ name, ...(typeof description === 'string' && { description }), arguments: list }];
  });
}

function toArgument(argument: unknown): McpPromptArgument[] {
  const { name, description, required } = recordOf(argument);
  if (typeof name !== 'string') return [];
  return [{ name, ...(typeof description === 'string' && { description }), isRequired: required === true }];
}

/** Returns the messages of a prompt as parts of one input. */
export async function getPrompt(
  connection: McpConnection,
  name: string,
  values: Readonly<Record<string, string>>,
  timeoutMs: number,
): Promise<Part[]> {
  const { messages } = await connection.ask('prompts/get', { name, arguments: values }, timeoutMs);
  const list = Array.isArray(messages) ? messages.filter(isRecord) : [];
  return list.flatMap(({ role, content }): Part[] => {
    return role === 'assistant' ? [{ type: 'text', text: 'Your earlier answer:' }, toPart(content)] : [toPart(content)];
  });
}

function firstText(...values: readonly unknown[]): string | undefined {
  return values.find((value): value is string => typeof value === 'string');
}
