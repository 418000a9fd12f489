import { inspect } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Logger } from '../../transports/transport.js';
import { createAgent } from '../create-agent.js';
import { startRawServer } from './hostile-server.fixture.js';
import { callingProvider, callTool, startMcpServer } from './mcp-server.fixture.js';
import { type McpTools, type McpToolsOptions, mcpTools } from './mcp-tools.js';

const tool = (name: unknown, inputSchema: unknown = { type: 'object' }) => ({ name, inputSchema });

/** Starts a server that lists tools page by page, and connects to it. */
async function listing(
  pageOf: (cursor: string | undefined) => object | string,
  options?: McpToolsOptions,
): Promise<{ mcp: McpTools; lines: string[]; lists: () => number }> {
  const lines: string[] = [];
  const log = (fields: object, message: string): void => void lines.push(inspect([fields, message]));
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const { server, requests } = await startRawServer(({ id, method, params }, response) => {
    if (method !== 'tools/list') return false;
    const result = pageOf(params['cursor'] as string | undefined);
    response.writeHead(200, { 'content-type': 'application/json' });
    const json = typeof result === 'string' ? result : JSON.stringify(result);
    response.end(`{"jsonrpc":"2.0","id":${id},"result":${json}}`);
    return true;
  });
  const mcp = await mcpTools(server, { logger, ...options });
  onTestFinished(() => mcp.close());
  return { mcp, lines, lists: () => requests.filter(({ method }) => method === 'tools/list').length };
}

const omissions = (lines: readonly string[]) => lines.filter((line) => line.includes('left out'));

test('of 10,000 tools the first 1,000 are offered, and allow finds the last one', async () => {
  const pageOf = (cursor = '0') => ({
    tools: Array.from({ length: 1_000 }, (_, index) => tool(`t${Number(cursor) * 1_000 + index}`)),
    ...(cursor !== '9' && { nextCursor: String(Number(cursor) + 1) }),
  });
  const { mcp, lines, lists } = await listing(pageOf);
  expect(lists()).toBe(10);
  expect(mcp.tools.map(({ name }) => name)).toEqual(Array.from({ length: 1_000 }, (_, index) => `t${index}`));
  expect(omissions(lines)).toEqual([expect.stringContaining('leftOut: 9000')]);
  const one = await listing(pageOf, { allow: ['t9999'] });
  expect(one.mcp.tools.map(({ name }) => name)).toEqual(['t9999']);
  expect(omissions(one.lines)).toEqual([]);
});

test.each([
  ['the same page again', () => 'a', 2],
  ['a new page each time', (cursor = '') => `${cursor}a`, 100],
  ['a cursor that is no text', () => 5, 1],
])('a list that never ends is cut: %s', async (_, next, pages) => {
  const { mcp, lists } = await listing((cursor) => ({ tools: [tool('a')], nextCursor: next(cursor) }));
  expect(lists()).toBe(pages);
  expect(mcp.tools.map(({ name }) => name)).toEqual(['a']);
});

test('hostile names become valid ones, and every tool can be called', async () => {
  const names = [
    ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'delegate'],
    ...['', ' ', 'two words', '😀', '\u0000', 'a\nb', 'x'.repeat(300), `${'x'.repeat(300)}y`, '1st', '-r'],
  ];
  const { mcp, lines } = await listing(() => ({
    tools: [...names, 'constructor', null, 5, {}].map((name) => tool(name)),
  }));
  expect(mcp.tools).toHaveLength(names.length - 1);
  for (const { name } of mcp.tools) {
    expect(name).toMatch(/^[A-Za-z_][\w-]{0,63}$/);
    // Vendor packages look names up in plain objects.
    expect(name in {}).toBe(false);
  }
  expect(omissions(lines)).toEqual([expect.stringContaining('leftOut: 5')]);
  const answer = { result: { content: [{ type: 'text', text: 'fine' }] } };
  const provider = callingProvider(mcp.tools.map(({ name }) => ({ name, arguments: { answer } })));
  const config = { name: 'a', systemPrompt: '', model: { model: 'm' }, maxIterations: 99 };
  const { toolCalls } = await createAgent({ ...config, provider, tools: mcp.tools }).run('go');
  expect(toolCalls.map(({ result, error }) => error ?? result)).toEqual(mcp.tools.map(() => 'fine'));
});

test.each<[string, unknown, boolean]>([
  ['cyclic', { type: 'object', properties: { a: { $ref: '#' } } }, true],
  ['a reference to itself', { type: 'object', properties: { answer: { $ref: '#/properties/answer' } } }, true],
  ['a reference to nowhere', { type: 'object', properties: { a: { $ref: 'https://127.0.0.1:1/x' } } }, false],
  ['of an unknown type', { type: 'object', properties: { a: { type: 'strange' } } }, false],
  ['without a type', { anyOf: [{ required: ['answer'] }, { required: ['b'] }] }, true],
  ['of a text', { type: 'string' }, false],
  ['a list', [], false],
  ['null', null, false],
  ['true', true, false],
  ['asynchronous', { type: 'object', $async: true }, false],
  ['of a million characters', { type: 'object', description: 'x'.repeat(1_000_000) }, false],
])('a schema that is %s takes no other tool with it', async (_, schema, isOffered) => {
  const { mcp, lines } = await listing(() => ({ tools: [tool('bad', schema), tool('good')] }));
  expect(mcp.tools.map(({ name }) => name)).toEqual(isOffered ? ['bad', 'good'] : ['good']);
  expect(omissions(lines)).toHaveLength(isOffered ? 0 : 1);
  const answer = { result: { content: [{ type: 'text', text: 'fine' }] } };
  const provider = callingProvider(mcp.tools.map(({ name }) => ({ name, arguments: { answer } })));
  const config = { name: 'a', systemPrompt: '', model: { model: 'm' }, provider, tools: mcp.tools };
  expect(await createAgent(config).run('go')).toMatchObject({ status: 'completed' });
});

test('a schema that is deeper than the stack takes no other tool with it', async () => {
  const deep = `${'{"items":'.repeat(100_000)}{}${'}'.repeat(100_000)}`;
  const { mcp } = await listing(() => {
    return `{"tools":[{"name":"bad","inputSchema":${deep}},${JSON.stringify(tool('good'))},{"name":"none"}]}`;
  });
  expect(mcp.tools.map(({ name }) => name)).toEqual(['good']);
});

test('at most 1,000,000 characters of tools are offered, 100,000 of one', async () => {
  const described = (name: string, length: number) => ({ ...tool(name), description: 'x'.repeat(length) });
  const many = Array.from({ length: 12 }, (_, index) => described(`t${index}`, 95_000));
  const { mcp, lines } = await listing(() => ({ tools: [described('long', 100_000), ...many, tool('short')] }));
  const offered = [...many.slice(0, 10).map(({ name }) => name), 'short'];
  expect(mcp.tools.map(({ name }) => name)).toEqual(offered);
  expect(omissions(lines)).toEqual([expect.stringContaining('leftOut: 3')]);
});

test('a tool stays the same object while the server describes it in the same way', async () => {
  const server = await startMcpServer([{ name: 'same' }, { name: 'other' }]);
  const mcp = await mcpTools({ url: server.url });
  onTestFinished(() => mcp.close());
  const before = mcp.tools;
  await server.setTools([{ name: 'same' }, { name: 'other', description: 'new' }]);
  await vi.waitFor(() => expect(mcp.tools[1]?.description).toBe('new'));
  expect(mcp.tools[0]).toBe(before[0]);
});

test.each([
  ['no list', {}],
  ['a text', { tools: 'echo' }],
])('tools that are %s break the protocol', async (_, page) => {
  await expect(listing(() => page)).rejects.toMatchObject({
    code: 'ERR_MCP_CONNECTION',
    message: expect.stringMatching(/^the MCP server "http:\/\/127\.0\.0\.1:\d+" broke the protocol$/),
  });
});

test('a server that announces changes all the time is asked for a list ten times in a row, then once per second', async () => {
  let lists = 0;
  const { server } = await startRawServer(({ id, method }, response) => {
    if (method === 'tools/list') lists += 1;
    if (id === undefined || method === 'initialize') return false;
    const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
    const result = { tools: [tool('echo')], content: [] };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const message of [changed, { jsonrpc: '2.0', id, result }, changed]) {
      response.write(`data: ${JSON.stringify(message)}\n\n`);
    }
    response.end();
    return true;
  });
  const startedAt = performance.now();
  const mcp = await mcpTools(server);
  onTestFinished(() => mcp.close());
  await vi.waitFor(() => expect(lists).toBeGreaterThanOrEqual(10));
  for (let call = 0; call < 30; call += 1) await callTool(mcp.tools, 'echo', {});
  expect(lists).toBeLessThanOrEqual(10 + Math.ceil((performance.now() - startedAt) / 1_000));
});

test('schemas that take seconds to compile or to check are left out, or checked without their patterns', async () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => ({ properties: { [`p${index}`]: {} } }));
  const expensive = [
    tool('alternatives', { type: 'object', anyOf: many(2_000) }),
    tool('unevaluated', { type: 'object', allOf: many(2_000), unevaluatedProperties: false }),
    tool('references', {
      type: 'object',
      $defs: { all: { anyOf: many(1_000) } },
      anyOf: Array.from({ length: 1_000 }, () => ({ $ref: '#/$defs/all' })),
    }),
  ];
  const multiplied = tool('multiplied', {
    type: 'object',
    $defs: { all: { anyOf: many(50) } },
    anyOf: Array.from({ length: 200 }, () => ({ $ref: '#/$defs/all' })),
  });
  const slow = tool('slow', {
    type: 'object',
    properties: { text: { type: 'string', pattern: '^(a+)+$' } },
    patternProperties: { '^(b+)+$': { type: 'string' } },
    additionalProperties: false,
  });
  const { mcp, lines } = await listing(() => ({ tools: [...expensive, multiplied, slow] }));
  expect(mcp.tools.map(({ name }) => name)).toEqual(['multiplied', 'slow']);
  expect(omissions(lines)).toEqual([expect.stringContaining('leftOut: 3')]);
  // Each of these takes hours to match.
  const input = { text: `${'a'.repeat(60)}!`, [`${'b'.repeat(60)}!`]: 'x' };
  const provider = callingProvider([{ name: 'slow', arguments: input }]);
  const config = { name: 'a', systemPrompt: '', model: { model: 'm' }, provider, tools: mcp.tools };
  const { toolCalls } = await createAgent(config).run('go');
  expect(toolCalls).toHaveLength(1);
  expect(toolCalls[0]?.error ?? '').not.toContain('pattern');
});
