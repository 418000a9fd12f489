import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createAgent } from '../create-agent.js';
import { createTool, type Tool } from '../tools/tool.js';
import { callingProvider, callTool, officialServer, startEverythingOverHttp } from './mcp-server.fixture.js';
import type { McpServer } from './mcp-server.js';
import { type McpTools, type McpToolsOptions, mcpTools } from './mcp-tools.js';

/** An official server, and functions that end it and make it available again. */
interface Scene {
  readonly server: McpServer;
  kill(): Promise<void>;
  restart(): Promise<void>;
  /** Waits until no process of the client is left. */
  untilEnded(): Promise<void>;
}

/** Starts a program that writes its process id to a file. The client starts it again by itself. */
async function stdioScene(program: string, ...args: readonly string[]): Promise<Scene> {
  const folder = await temporaryFolder();
  const pidFile = join(folder, 'pid');
  const script = 'echo $$ > "$0"; exec "$@"';
  const signal = async (name: NodeJS.Signals | 0): Promise<void> =>
    void process.kill(Number(await readFile(pidFile, 'utf8')), name);
  return {
    server: { command: 'sh', args: ['-c', script, pidFile, process.execPath, program, ...args] },
    kill: () => signal('SIGKILL'),
    restart: async () => {},
    // On a busy machine the client does not wait for its end.
    untilEnded: () => vi.waitFor(() => expect(signal(0)).rejects.toThrow('ESRCH')),
  };
}

async function httpScene(): Promise<Scene> {
  const server = await startEverythingOverHttp();
  return { server: { url: server.url }, kill: server.kill, restart: server.start, untilEnded: async () => {} };
}

async function temporaryFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'hubline-mcp-')));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function connected(server: McpServer, options?: McpToolsOptions): Promise<McpTools> {
  const tools = await mcpTools(server, options);
  onTestFinished(() => tools.close());
  return tools;
}

/** Runs an agent whose model calls these tools in sequence. */
async function runCalls(tools: Tool[], calls: readonly { name: string; arguments?: unknown }[]) {
  const provider = callingProvider(calls);
  const agent = createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' }, tools });
  const result = await agent.run('go');
  provider.assertDone();
  return result;
}

describe.each([
  ['stdio', () => stdioScene(officialServer('everything'))],
  ['streamable HTTP', httpScene],
])('the official server "everything" over %s', (_, createScene) => {
  test('offers its tools with their schemas, and their results go to the model', async () => {
    const { server } = await createScene();
    const { tools } = await connected(server);
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['echo', 'get-sum', 'get-tiny-image']));
    const sum = tools.find(({ name }) => name === 'get-sum');
    expect(sum).toMatchObject({
      description: expect.stringMatching(/sum/i),
      parameters: { type: 'object', required: ['a', 'b'] },
      timeoutMs: 60_000,
      retryable: true,
    });
    const { messages, toolCalls, status } = await runCalls(tools, [
      { name: 'get-sum', arguments: { a: 2, b: 3 } },
      { name: 'get-structured-content', arguments: { location: 'Chicago' } },
      { name: 'get-tiny-image' },
      { name: 'get-resource-links', arguments: { count: 1 } },
      { name: 'get-resource-reference', arguments: { resourceType: 'Text', resourceId: 1 } },
      { name: 'get-resource-reference', arguments: { resourceType: 'Blob', resourceId: 1 } },
      { name: 'get-resource-reference', arguments: { resourceType: 'Text', resourceId: -1 } },
      { name: 'get-sum', arguments: { a: 'two', b: 3 } },
    ]);
    expect(status).toBe('completed');
    const contents = messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
    expect(contents[0]).toContain('5');
    expect(toolCalls[1]?.result).toEqual({ temperature: 36, conditions: 'Light rain / drizzle', humidity: 82 });
    expect(contents[2]).toContain('[image: image/png, 4033 bytes]');
    expect(messages.flatMap(({ parts = [] }) => parts)).toContainEqual({
      type: 'image',
      mediaType: 'image/png',
      data: expect.stringMatching(/^iVBOR/),
    });
    expect(contents[3]).toMatch(/\[resource demo:\/\/\S+: .*\]/);
    expect(contents[4]).toMatch(/\[resource demo:\/\/\S+\]\nResource 1/);
    expect(contents[5]).toMatch(/\[file demo:\/\/\S+: text\/plain, \d+ bytes\]/);
    expect(contents[6]).toMatch(/^Error: .*Invalid resourceId: -1/);
    expect(contents[7]).toContain('Error: the arguments of get-sum do not match its parameters');

    const some = await connected(server, { allow: ['echo', 'get-sum'], prefix: 'demo_', timeoutMs: 30_000 });
    expect(some.tools.map(({ name, timeoutMs }) => [name, timeoutMs])).toEqual([
      ['demo_echo', 30_000],
      ['demo_get-sum', 30_000],
    ]);
    expect(await callTool(some.tools, 'demo_echo', { message: 'hi' })).toBe('Echo: hi');
  });

  test('has resources and prompts, which become parts of an input', async () => {
    const { server } = await createScene();
    const mcp = await connected(server);
    const uri = 'demo://resource/static/document/features.md';
    expect(await mcp.listResources()).toContainEqual({
      uri,
      name: 'features.md',
      description: expect.any(String),
      mediaType: 'text/markdown',
    });
    expect(await mcp.readResource(uri)).toEqual([
      { type: 'text', text: expect.stringMatching(/^\[resource demo:.*\]\n#/) },
    ]);
    const [blob] = await mcp.readResource('demo://resource/dynamic/blob/1');
    expect(blob).toMatchObject({ type: 'file', mediaType: 'text/plain', data: expect.stringMatching(/^\w+=*$/) });
    expect(await mcp.listPrompts()).toContainEqual({
      name: 'args-prompt',
      description: expect.any(String),
      arguments: [
        { name: 'city', description: expect.any(String), isRequired: true },
        { name: 'state', isRequired: false },
      ],
    });
    const prompt = await mcp.getPrompt('args-prompt', { city: 'Bergen' });
    expect(prompt).toEqual([{ type: 'text', text: "What's weather in Bergen?" }]);
    const provider = callingProvider([]);
    const agent = createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' } });
    expect(await agent.run([...prompt, ...(await mcp.readResource(uri))])).toMatchObject({ status: 'completed' });
    expect(provider.calls[0]?.messages[0]?.content).toMatch(/^What's weather in Bergen\?\n\n\[resource demo:/);
    const refused = await mcp.readResource('demo://none').catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'ERR_MCP_REQUEST', method: 'resources/read' });
    await mcp.close();
    await expect(mcp.listPrompts()).rejects.toMatchObject({ code: 'ERR_MCP_CONNECTION' });
  });

  test('is reached again after it was killed, between two calls of a run and during a call, until it is closed', async () => {
    const { server, kill, restart, untilEnded } = await createScene();
    const mcp = await connected(server, { allow: ['echo', 'trigger-long-running-operation'] });
    const { tools } = mcp;
    const crash = createTool({
      name: 'crash',
      description: '',
      parameters: {},
      execute: async () => {
        await kill();
        await restart();
        return 'killed';
      },
    });
    const { toolCalls } = await runCalls(
      [...tools, crash],
      [
        { name: 'echo', arguments: { message: 'one' } },
        { name: 'crash' },
        { name: 'echo', arguments: { message: 'two' } },
      ],
    );
    expect(toolCalls.map(({ result, error }) => error ?? result)).toEqual(['Echo: one', 'killed', 'Echo: two']);

    const pending = callTool(tools, 'trigger-long-running-operation', { duration: 0.5, steps: 1 });
    await kill();
    await restart();
    expect(await pending).toContain('Long running operation completed');

    await mcp.close();
    await expect(callTool(tools, 'echo', { message: 'hi' })).rejects.toThrow('is closed');
    await untilEnded();
  });
});

test('the official server "filesystem" reads and writes in its folder, also after it was killed under a run', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'order.txt'), 'one teapot');
  const { server, kill } = await stdioScene(officialServer('filesystem'), folder);
  const { tools } = await connected(server, { prefix: 'files_' });
  const crash = createTool({ name: 'crash', description: '', parameters: {}, execute: kill });
  const read = (path: string) => ({ name: 'files_read_text_file', arguments: { path } });
  const { toolCalls, messages } = await runCalls(
    [...tools, crash],
    [
      read(join(folder, 'order.txt')),
      { name: 'crash' },
      read(join(folder, 'order.txt')),
      { name: 'files_write_file', arguments: { path: join(folder, 'reply.txt'), content: 'sent' } },
      read('/etc/hostname'),
    ],
  );
  expect(messages.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual([
    expect.stringContaining('one teapot'),
    'null',
    expect.stringContaining('one teapot'),
    expect.stringContaining('reply.txt'),
    expect.stringContaining('Error: Access denied'),
  ]);
  expect(toolCalls[0]?.error).toBeUndefined();
  expect(await readFile(join(folder, 'reply.txt'), 'utf8')).toBe('sent');
});
