import { type Agent, createAgent, type McpTools, type ModelAgent, type ModelProvider, mcpTools } from 'hubline/agents';

/** Creates an agent that reads the files of a folder through the official MCP server for files. */
export async function createLibrarian(
  provider: ModelProvider,
  folder: string,
): Promise<{ agent: Agent; files: McpTools }> {
  const files = await mcpTools(
    { command: 'npx', args: ['@modelcontextprotocol/server-filesystem', folder] },
    { allow: ['list_directory', 'read_text_file'], prefix: 'files_', timeoutMs: 10_000 },
  );
  const agent = createAgent({
    name: 'librarian',
    systemPrompt: `You answer questions about the files in ${folder}.`,
    provider,
    model: { model: 'claude-sonnet-4-5' },
    tools: files.tools,
  });
  return { agent, files };
}

/** Connects to a server over HTTP. */
export function connectTickets(url: string, token: string): Promise<McpTools> {
  return mcpTools({ url, headers: { authorization: `Bearer ${token}` } });
}

/** Answers a question about a resource of a server. */
export async function askAbout(agent: ModelAgent, files: McpTools, uri: string, question: string): Promise<string> {
  const { output } = await agent.run([{ type: 'text', text: question }, ...(await files.readResource(uri))]);
  return output;
}
