import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createAgent, mcpTools } from 'hubline/agents';
import { scriptedProvider } from 'hubline/testing';
import { expect, onTestFinished, test } from 'vitest';
import { askAbout, connectTickets, createLibrarian } from './mcp.js';

test('the agent reads a file through the MCP server, and has no other tool of it', async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'hubline-librarian-')));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'hours.txt'), 'open until ten');
  const provider = scriptedProvider([
    { toolCalls: [{ name: 'files_read_text_file', arguments: { path: join(folder, 'hours.txt') } }] },
    'Until ten.',
  ]);
  const { agent, files } = await createLibrarian(provider, folder);
  onTestFinished(() => files.close());
  const { output, messages } = await agent.run('How long are we open?');
  expect(output).toBe('Until ten.');
  expect(messages.find(({ role }) => role === 'tool')?.content).toContain('open until ten');
  const offered = provider.calls[0]?.options.tools?.map(({ name }) => name);
  expect(offered?.sort()).toEqual(['files_list_directory', 'files_read_text_file']);
});

test('a resource becomes a part of the input', async () => {
  const everything = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));
  const mcp = await mcpTools({ command: process.execPath, args: [everything] });
  onTestFinished(() => mcp.close());
  const provider = scriptedProvider(['A demo.']);
  const agent = createAgent({ name: 'reader', systemPrompt: '', provider, model: { model: 'm' } });
  const uri = 'demo://resource/static/document/features.md';
  expect(await askAbout(agent, mcp, uri, 'What is it?')).toBe('A demo.');
  expect(provider.calls[0]?.messages[0]?.content).toMatch(/^What is it\?\n\n\[resource demo:/);
});

test('the error of a server that cannot be reached does not show the token', async () => {
  const error = await connectTickets('http://127.0.0.1:9999/mcp', 'secret-token').catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'ERR_MCP_CONNECTION', server: 'http://127.0.0.1:9999' });
  expect(String(error)).not.toContain('secret-token');
});
