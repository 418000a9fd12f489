import { inspect } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Logger } from '../../transports/transport.js';
import { createAgent } from '../create-agent.js';
import { rawProcess, sendJson, startRawServer } from './hostile-server.fixture.js';
import { callingProvider, callTool } from './mcp-server.fixture.js';
import type { McpServer } from './mcp-server.js';
import { type McpTools, mcpTools } from './mcp-tools.js';

const canary = 'CANARY-7f3a';

function recordingLogger(): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  const log = (fields: object, message: string): void => void lines.push(inspect([fields, message], { depth: 9 }));
  return { logger: { debug: log, info: log, warn: log, error: log }, lines };
}

async function connected(server: McpServer, logger?: Logger): Promise<McpTools> {
  const mcp = await mcpTools(server, logger && { logger });
  onTestFinished(() => mcp.close());
  return mcp;
}

const image = (data: string) => ({ type: 'image', data, mimeType: 'image/png' });
const textOf = (text: unknown) => ({ type: 'text', text });
const deep = (depth: number): unknown => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);

/** Answers of a server, and what the model receives. */
const answers: readonly [name: string, answer: object, expected: string | RegExp][] = [
  ['no content', { result: {} }, ''],
  ['structured content alone', { result: { structuredContent: { a: 1 } } }, '{"a":1}'],
  ['structured content that repeats no text', { result: { content: [], structuredContent: { a: 1 } } }, '{"a":1}'],
  ['structured content that is a list', { result: { structuredContent: [1], content: [textOf('x')] } }, 'x\n[1]'],
  ['structured content that is null', { result: { structuredContent: null, content: [textOf('x')] } }, 'x'],
  ['content that is null', { result: { content: null } }, /^Error: .*echo.*unknown format/],
  ['content that is a text', { result: { content: canary } }, /^Error: .*echo.*unknown format/],
  ['a result of old servers', { result: { toolResult: 'old' } }, /^Error: .*echo.*unknown format/],
  ['a part that is null', { result: { content: [null, textOf('x')] } }, '[unknown content omitted]\nx'],
  ['a part of an unknown type', { result: { content: [{ type: 'video', data: 'AA' }] } }, '[unknown content omitted]'],
  ['a text that is none', { result: { content: [textOf(5), textOf('x')] } }, '[unknown content omitted]\nx'],
  ['an image', { result: { content: [image('AAAA')] } }, '[image: image/png, 3 bytes]'],
  ['an image that is not base64', { result: { content: [image('*')] } }, '[image omitted: image/png, 0 bytes]'],
  [
    'a resource without a text',
    { result: { content: [{ type: 'resource', resource: { uri: 'a:b' } }] } },
    '[unknown content omitted]',
  ],
  ['an error', { result: { isError: true, content: [textOf('no funds')] } }, 'Error: no funds'],
  ['an error without content', { result: { isError: true } }, /^Error: tool "echo" of the MCP server ".*" failed$/],
  ['an error with structured content', { result: { isError: true, structuredContent: { a: 1 } } }, 'Error: {"a":1}'],
  ['isError that is no boolean', { result: { isError: 'yes', content: [textOf('no')] } }, 'Error: no'],
  ['an error of the protocol', { error: { code: -32000, message: 'no' } }, /^Error: .*no$/],
  ['an error with the code of a lost connection', { error: { code: -32001, message: 'no' } }, /^Error: .*no$/],
  ['a long text', { result: { content: [textOf('x'.repeat(100_000))] } }, /^x{20000}\n\n\[The result is cut/],
  ['a long error', { error: { code: 1, message: 'x'.repeat(100_000) } }, /^Error: MCP error 1: x{1000,2000}.{0,100}$/],
  ['a very deep value', { result: { structuredContent: deep(2_000) } }, /^\{"a":\{"a"/],
];

describe.each([
  ['stdio', async () => ({ server: rawProcess() })],
  ['HTTP', () => startRawServer()],
])('over %s', (_, start) => {
  test('every answer is a result or an error for the model, and none of it reaches a log or ends the session', async () => {
    const { logger, lines } = recordingLogger();
    const { tools } = await connected((await start()).server, logger);
    const calls = answers.map(([, answer]) => ({ name: 'echo', arguments: { answer } }));
    const provider = callingProvider(calls);
    const config = { name: 'a', systemPrompt: '', provider, model: { model: 'm' }, maxIterations: 99, logger };
    const { status, messages } = await createAgent({ ...config, tools }).run('go');
    expect(status).toBe('completed');
    const contents = messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
    for (const [index, [name, , expected]] of answers.entries()) {
      if (typeof expected === 'string') expect(contents[index], name).toBe(expected);
      else expect(contents[index], name).toMatch(expected);
    }
    expect(lines.filter((line) => / MCP server (connected|lost)|'MCP server/.test(line))).toHaveLength(1);
    expect(lines.join()).not.toContain(canary);
    expect(lines.join()).not.toContain('no funds');
  });
});

test('a resource, a prompt or a list of any form is read as far as it can be, and its absence is an empty list', async () => {
  const answersOf: Record<string, object> = {
    'resources/list': {
      resources: [null, {}, { uri: 5 }, { uri: 'a:b', name: 7, size: 'x' }, { uri: 'a:c', title: 'C' }],
    },
    'resources/read': {
      contents: [null, { uri: 'a:b' }, { uri: 'a:b', text: 'x' }, { uri: 'a:b', blob: '*' }, deep(2_000)],
    },
    'prompts/list': { prompts: [null, { name: 'p', arguments: 'x' }, { name: 'q', arguments: [null, { name: 'a' }] }] },
    'prompts/get': { messages: [null, 5, { role: 'assistant', content: textOf('x') }, { content: { type: 'new' } }] },
  };
  const isServed = { value: true };
  const { server } = await startRawServer((request, response) => {
    const result = answersOf[request.method];
    if (result === undefined) return false;
    const unknown = { error: { code: -32601, message: `Method not found ${canary}` } };
    sendJson(response, request, isServed.value ? { result } : unknown);
    return true;
  });
  const mcp = await connected(server);
  expect(await mcp.listResources()).toEqual([
    { uri: 'a:b', name: 'a:b' },
    { uri: 'a:c', name: 'C' },
  ]);
  const unknown = { type: 'text', text: '[unknown content omitted]' };
  expect(await mcp.readResource('a:b')).toEqual([
    unknown,
    unknown,
    { type: 'text', text: '[resource a:b]\nx' },
    { type: 'text', text: '[resource a:b omitted: unknown type, 0 bytes]' },
    unknown,
  ]);
  expect(await mcp.listPrompts()).toEqual([
    { name: 'p', arguments: [] },
    { name: 'q', arguments: [{ name: 'a', isRequired: false }] },
  ]);
  expect(await mcp.getPrompt('p')).toEqual([
    { type: 'text', text: 'Your earlier answer:' },
    { type: 'text', text: 'x' },
    unknown,
  ]);
  isServed.value = false;
  expect([await mcp.listResources(), await mcp.listPrompts()]).toEqual([[], []]);
  const refused = await mcp.getPrompt('p').catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: 'ERR_MCP_REQUEST', message: expect.stringContaining(canary) });
  expect(refused).toMatchObject({ publicMessage: expect.not.stringContaining(canary) });
});

test('an answer that is deeper than the stack ends no session, and its call is not sent again', async () => {
  let calls = 0;
  const { server } = await startRawServer(({ id, method }, response) => {
    if (method !== 'tools/call') return false;
    calls += 1;
    const result = `{"content":[{"type":"text","text":"x"}],"structuredContent":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_001)}`;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`);
    return true;
  });
  const { logger, lines } = recordingLogger();
  const { tools } = await connected(server, logger);
  const outcome = callTool(tools, 'echo', {}).then(
    () => 'answered',
    (error) => error.code,
  );
  // From version 26 on, Node writes JSON of any depth.
  expect(['answered', 'ERR_MCP_TOOL']).toContain(await outcome);
  expect(calls).toBe(1);
  expect(lines.filter((line) => line.includes('MCP server lost'))).toEqual([]);
});
