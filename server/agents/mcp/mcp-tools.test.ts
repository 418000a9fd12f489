import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { freePort } from '../../../scripts/listen-locally.js';
import { scriptedProvider } from '../../testing/scripted-provider.js';
import type { Logger } from '../../transports/transport.js';
import { createAgent } from '../create-agent.js';
import { MediaResult } from '../model/part.js';
import { createTool, type Tool } from '../tools/tool.js';
import type { McpConnectionError } from './mcp-connection.js';
import { callingProvider, callTool, type ServedTool, startMcpServer, text } from './mcp-server.fixture.js';
import type { McpServer } from './mcp-server.js';
import { type McpTools, type McpToolsOptions, mcpToolName, mcpTools } from './mcp-tools.js';

async function connected(server: McpServer, options?: McpToolsOptions): Promise<McpTools> {
  const tools = await mcpTools(server, options);
  onTestFinished(() => tools.close());
  return tools;
}

const served = (name: string, fields: Partial<ServedTool> = {}): ServedTool => ({
  name,
  call: () => text(`${name} done`),
  ...fields,
});

function recordingLogger(): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  const log = (fields: object, message: string): void => void lines.push(inspect([fields, message], { depth: 9 }));
  return { logger: { debug: log, info: log, warn: log, error: log }, lines };
}

describe('changes of the tools', () => {
  test('reach an agent with its next run: all of them if it has all tools, else those of its own tools', async () => {
    const server = await startMcpServer([served('a'), served('b')]);
    const mcp = await connected({ url: server.url });
    const own = createTool({ name: 'taken', description: 'own', parameters: {}, execute: async () => 'own' });
    const agentOf = (tools: Tool[]) => {
      const provider = scriptedProvider(['done', 'done']);
      return { provider, agent: createAgent({ name: 'a', systemPrompt: '', model: { model: 'm' }, tools, provider }) };
    };
    const agents = [agentOf([...mcp.tools, own]), agentOf([own, ...mcp.tools.slice(0, 1)])];
    for (const { agent } of agents) await agent.run('go');
    const before = mcp.tools;
    await server.setTools([served('a', { description: 'new' }), served('c'), served('taken')]);
    await vi.waitFor(() => expect(mcp.tools).not.toBe(before));
    for (const { agent } of agents) await agent.run('go');
    const offered = agents.map(({ provider }) =>
      provider.calls.map(({ options }) => options.tools?.map(({ name, description }) => `${name} ${description}`)),
    );
    expect(offered).toEqual([
      [
        ['a ', 'b ', 'taken own'],
        ['taken own', 'a new', 'c '],
      ],
      [
        ['taken own', 'a '],
        ['taken own', 'a new'],
      ],
    ]);
  });

  test('never offer a tool that allow does not name', async () => {
    const server = await startMcpServer([served('a')]);
    const mcp = await connected({ url: server.url }, { allow: ['a'] });
    await server.setTools([served('a', { description: 'new' }), served('b')]);
    await vi.waitFor(() =>
      expect(mcp.tools.map(({ name, description }) => [name, description])).toEqual([['a', 'new']]),
    );
    await expect(mcpTools({ url: server.url }, { allow: ['a', 'z'] })).rejects.toThrow(
      'allow of mcpTools must be names of tools that the server offers, got "z"',
    );
  });

  test('leave out a tool that no agent can register, and keep the others', async () => {
    const { logger, lines } = recordingLogger();
    const server = await startMcpServer([
      served('good'),
      served('bad', { inputSchema: { properties: { a: { type: 'strange' } } } }),
      served('good'),
    ]);
    const mcp = await connected({ url: server.url }, { logger });
    expect(mcp.tools.map(({ name }) => name)).toEqual(['good']);
    expect(lines.filter((line) => line.includes('left out'))).toEqual([expect.stringContaining('leftOut: 2')]);
  });
});

describe('a call', () => {
  test('passes its arguments and its key, and returns text, structured content, or both', async () => {
    const calls: unknown[] = [];
    const server = await startMcpServer([
      served('texts', { call: (...call) => calls.push(call) && text('one', 'two') }),
      served('repeated', { call: () => ({ ...text('{"a": 1}'), structuredContent: { a: 1 } }) }),
      served('both', { call: () => ({ ...text('Found:'), structuredContent: { a: 1 } }) }),
      served('sound', { call: () => ({ content: [{ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }] }) }),
      served('nothing', { call: () => ({ content: [] }) }),
    ]);
    const { tools } = await connected({ url: server.url });
    expect(await callTool(tools, 'texts', { x: 1 })).toBe('one\ntwo');
    expect(calls).toEqual([[{ x: 1 }, { 'hubline/callKey': expect.stringMatching(/^[\w-]{43}$/) }]]);
    expect(await callTool(tools, 'repeated', {})).toEqual({ a: 1 });
    expect(await callTool(tools, 'both', {})).toBe('Found:\n{"a":1}');
    expect(await callTool(tools, 'sound', {})).toEqual(
      new MediaResult([{ type: 'audio', mediaType: 'audio/wav', data: 'AAAA' }]),
    );
    expect(await callTool(tools, 'nothing', {})).toBe('');
  });

  test('ends with the timeout of its tool and with the abort of its run, and the connection lasts', async () => {
    const server = await startMcpServer([served('hang', { call: () => new Promise(() => {}) }), served('quick')]);
    const { tools } = await connected({ url: server.url }, { timeoutMs: 100 });
    const provider = callingProvider([{ name: 'hang' }]);
    const agent = createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' }, tools });
    expect((await agent.run('go')).toolCalls[0]?.error).toContain('longer than its timeoutMs (100 ms)');
    const abort = new AbortController();
    const aborted = callTool(tools, 'hang', {}, abort.signal);
    abort.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    expect(await callTool(tools, 'quick', {})).toBe('quick done');
    expect(server.sessions).toBe(1);
  });

  test.each([
    ['is repeated if the tool is idempotent', { idempotentHint: true }, 2, 'done'],
    ['is not repeated otherwise', { idempotentHint: false }, 1, 'the call may or may not have been executed'],
  ])('that the connection is lost under %s', async (_, annotations, times, expected) => {
    let calls = 0;
    const server = await startMcpServer([
      served('pay', {
        annotations,
        call: () => {
          calls += 1;
          if (calls > 1) return text('done');
          server.restart();
          return new Promise(() => {});
        },
      }),
    ]);
    const { tools } = await connected({ url: server.url });
    expect(tools[0]?.retryable).toBe(annotations.idempotentHint);
    expect(await callTool(tools, 'pay', {}).catch((error: Error) => error.message)).toContain(expected);
    expect(calls).toBe(times);
    expect(await callTool(tools, 'pay', {})).toBe('done');
    expect(server.sessions).toBe(2);
  });

  test('calls that wait for the same lost server share one new session', async () => {
    const server = await startMcpServer([served('a', { annotations: { readOnlyHint: true } })]);
    const { tools } = await connected({ url: server.url });
    server.restart();
    const calls = Array.from({ length: 20 }, () => callTool(tools, 'a', {}));
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['a done']));
    expect(server.sessions).toBe(2);
  });

  test('is not needed to follow the changes of a server that was lost', async () => {
    const server = await startMcpServer([served('a')]);
    const mcp = await connected({ url: server.url });
    server.restart();
    await server.setTools([served('b')]);
    await vi.waitFor(() => expect(mcp.tools.map(({ name }) => name)).toEqual(['b']));
  });
});

describe('secrets', () => {
  const secret = 'sk-very-secret-1234567890';
  const nowhere = (error: unknown): void => {
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(secret);
    expect(JSON.stringify(error)).not.toContain(secret);
  };

  test('reach the server, and neither an error, a tool error nor a log line', async () => {
    const { logger, lines } = recordingLogger();
    const server = await startMcpServer([
      served('fail', {
        call: () => {
          throw new Error(`bad token ${secret}`);
        },
      }),
      served('refuse', { call: () => ({ ...text(`denied: Bearer ${secret}`), isError: true }) }),
    ]);
    const headers = { authorization: `Bearer ${secret}` };
    const mcp = await connected({ url: server.url, headers }, { logger });
    expect(new Set(server.headers.map(({ authorization }) => authorization))).toEqual(new Set([headers.authorization]));
    const provider = callingProvider([{ name: 'fail' }, { name: 'refuse' }]);
    const agent = createAgent({
      name: 'a',
      systemPrompt: '',
      provider,
      model: { model: 'm' },
      tools: mcp.tools,
      logger,
    });
    const result = await agent.run('go');
    expect(result.toolCalls.map(({ error }) => error)).toEqual([
      expect.stringContaining('bad token [secret]'),
      'denied: [secret]',
    ]);
    server.restart();
    await callTool(mcp.tools, 'fail', {}).catch(nowhere);
    nowhere(result);
    nowhere(mcp);
    expect(lines.join('\n')).not.toContain(secret);
    expect(lines.join('\n')).not.toContain('bad token');
  });

  test.each<[string, () => Promise<McpServer>, string, number?]>([
    [
      'a refused connection',
      async () => {
        const echo = (headers: object) => ({ status: 401, body: JSON.stringify(headers) });
        const { url } = await startMcpServer([], echo);
        return { url: `${url}/${secret}?key=${secret}`, headers: { 'x-api-key': secret } };
      },
      'answered with status 401',
      401,
    ],
    [
      'an answer that is not of the protocol',
      async () => {
        const { url } = await startMcpServer([], () => ({ status: 200, body: `{"you":"${secret}"}` }));
        return { url, headers: { 'x-api-key': secret } };
      },
      'broke the protocol',
    ],
    [
      'an unreachable host',
      async () => ({ url: `http://127.0.0.1:${await freePort()}/${secret}`, headers: { 'x-api-key': secret } }),
      ' cannot be reached (ECONNREFUSED)',
    ],
    [
      'a missing program',
      async () => ({ command: 'no-such-program', args: [secret], env: { TOKEN: secret } }),
      '"no-such-program" cannot be started (ENOENT)',
    ],
    [
      'a program that is no server',
      async () => ({ command: 'sh', args: ['-c', 'echo $TOKEN; echo $TOKEN >&2'], env: { TOKEN: secret } }),
      '"sh" closed the connection',
    ],
  ])('do not appear in the error of %s', async (_, create, message, statusCode) => {
    const error = await mcpTools(await create()).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    nowhere(error);
    expect(error).toMatchObject({ code: 'ERR_MCP_CONNECTION', message: expect.stringContaining(message) });
    expect((error as McpConnectionError).statusCode).toBe(statusCode);
  });

  test.each<[string, unknown]>([
    ['url', { url: `ftp://${secret}` }],
    ['url', { url: `http://user:${secret}@127.0.0.1:1` }],
    ['headers', { url: 'http://127.0.0.1:1', headers: { 'x-key': `a\n${secret}` } }],
    ['args', { command: 'x', args: [1] }],
    ['env', { command: 'x', env: { A: 1 } }],
    ['command or url', {}],
    ['stderr', { command: 'x', stderr: 'pipe' }],
    ['option', { command: 'x', shell: true }],
  ])('do not appear if %s is wrong', async (option, server) => {
    // Wrong on purpose: the compiler rejects most of these.
    const error = await mcpTools(server as McpServer).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'ERR_INVALID_OPTION', message: expect.stringContaining(option) });
    nowhere(error);
  });
});

test.each<[string, McpToolsOptions]>([
  ['allow', { allow: 'a' as never }],
  ['prefix', { prefix: '1' }],
  ['prefix', { prefix: 'a.' }],
  ['timeoutMs', { timeoutMs: 0 }],
  ['timeoutMs', { timeoutMs: 2 ** 31 }],
  ['logger', { logger: {} as never }],
  ['option', { retries: 1 } as never],
])('the option %s is checked', async (option, options) => {
  const error = await mcpTools({ command: 'x' }, options).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'ERR_INVALID_OPTION', message: expect.stringContaining(option) });
});

test('every name of a tool becomes one that all vendors accept, and no two become the same', () => {
  const name = fc.oneof(fc.string({ maxLength: 130 }), fc.stringMatching(/^[\w./-]{1,128}$/));
  const prefix = fc.constantFrom('', 'files_', 'a'.repeat(32));
  fc.assert(
    fc.property(name, name, prefix, (one, other, before) => {
      const [first, second] = [mcpToolName(one, before), mcpToolName(other, before)];
      expect(first).toMatch(/^[A-Za-z_][\w-]{0,63}$/);
      expect(first === second).toBe(one === other);
      if (/^[A-Za-z_][\w-]{0,30}$/.test(one) && !(`${before}${one}` in {})) expect(first).toBe(`${before}${one}`);
    }),
  );
});
