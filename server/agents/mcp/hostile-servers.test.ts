import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createGate, type RawRequest, rawProcess, sendJson, startRawServer } from './hostile-server.fixture.js';
import { callTool } from './mcp-server.fixture.js';
import type { McpServer } from './mcp-server.js';
import { type McpTools, mcpTools } from './mcp-tools.js';

const fine = { answer: { result: { content: [{ type: 'text', text: 'fine' }] } } };
const mebibyte = 1024 * 1024;

async function connected(server: McpServer): Promise<McpTools> {
  const mcp = await mcpTools(server);
  onTestFinished(() => mcp.close());
  return mcp;
}

const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

afterEach(() => vi.useRealTimers());

/** Ways in which a server over HTTP fails in a call, and the error. The server answers the next call. */
const failures: readonly [string, (response: ServerResponse, request: RawRequest) => void, string, number?][] = [
  ['401', (response) => response.writeHead(401).end('CANARY'), 'answered with status 401', 401],
  ['403', (response) => response.writeHead(403).end('CANARY'), 'answered with status 403', 403],
  ['429', (response) => response.writeHead(429).end('CANARY'), 'answered with status 429', 429],
  ['500', (response) => response.writeHead(500).end('CANARY'), 'answered with status 500; the call may', 500],
  [
    'a redirect to another host',
    (response) => response.writeHead(307, { location: 'http://127.0.0.2:1/CANARY' }).end(),
    'answered with status 307',
    307,
  ],
  [
    'a page',
    (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>CANARY</html>'),
    'answered with an unexpected content type; the call may',
  ],
  ['no content', (response) => response.writeHead(204).end(), 'answered with an unexpected content type; the call may'],
  [
    'another JSON',
    (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"you":"CANARY"}'),
    'broke the protocol; the call may',
  ],
  [
    'half a JSON',
    (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc":'),
    'broke the protocol; the call may',
  ],
  ['a closed connection', (response) => response.destroy(), 'cannot be reached'],
  [
    'a long text',
    (response, request) => sendJson(response, request, { result: { content: [], a: 'x'.repeat(11 * mebibyte) } }),
    'sent a message of more than 10 MiB; the call may',
  ],
  [
    'a long error page',
    (response) => response.writeHead(500).end('x'.repeat(11 * mebibyte)),
    'sent a message of more than 10 MiB; the call may',
  ],
  [
    'a long event',
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`data: ${'x'.repeat(11 * mebibyte)}`);
    },
    'sent a message of more than 10 MiB; the call may',
  ],
];

describe('a server over HTTP', () => {
  test.each(failures)(
    'that answers a call with %s fails that call, and answers the next',
    async (_, fail, message, statusCode) => {
      let isFailing = true;
      const { server } = await startRawServer((request, response) => {
        if (request.method !== 'tools/call' || !isFailing) return false;
        fail(response, request);
        return true;
      });
      const { tools } = await connected(server);
      const error = await errorOf(callTool(tools, 'echo', fine));
      expect(error).toMatchObject({ code: 'ERR_MCP_CONNECTION', message: expect.stringContaining(message) });
      expect(error).toHaveProperty('server', expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/));
      expect((error as { statusCode?: number }).statusCode).toBe(statusCode);
      expect(String(error)).not.toContain('CANARY');
      isFailing = false;
      expect(await callTool(tools, 'echo', fine)).toBe('fine');
    },
  );

  test('that sends events of 6 MiB in one stream keeps to the limit, which is one of a message', async () => {
    const { server } = await startRawServer((request, response) => {
      if (request.method !== 'tools/call') return false;
      const progress = { method: 'notifications/progress', params: { progressToken: 'x', progress: 1 } };
      const noise = JSON.stringify({ jsonrpc: '2.0', ...progress, x: 'x'.repeat(6 * mebibyte) });
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let event = 0; event < 2; event += 1) response.write(`: comment\r\n\r\ndata: ${noise}\r\n\r\n`);
      response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: request.id, ...fine.answer })}\n\n`);
      return true;
    });
    const { tools } = await connected(server);
    expect(await callTool(tools, 'echo', fine)).toBe('fine');
  });

  test('that answers after the abort is heard no more, and answers the next call', async () => {
    const called = createGate();
    let late: (() => void) | undefined;
    const { server, requests } = await startRawServer((request, response) => {
      if (request.method !== 'tools/call' || late !== undefined) return false;
      late = () => sendJson(response, request, fine.answer);
      called.open();
      return true;
    });
    const { tools } = await connected(server);
    const abort = new AbortController();
    const call = callTool(tools, 'echo', fine, abort.signal);
    await called.opened;
    abort.abort(new Error('enough CANARY'));
    await expect(call).rejects.toThrow('enough');
    late?.();
    expect(await callTool(tools, 'echo', fine)).toBe('fine');
    const cancelled = requests.find(({ method }) => method === 'notifications/cancelled');
    expect(cancelled?.params['reason']).toBe('cancelled');
  });

  test.each([
    ['initialize', 'did not answer in time'],
    ['notifications/initialized', 'did not answer in time'],
    ['tools/list', 'did not answer in time'],
  ])('that never answers %s is given up after 60 seconds', async (silent, message) => {
    const asked = createGate();
    const { server } = await startRawServer(({ method }) => {
      if (method === silent) asked.open();
      return method === silent;
    });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const error = errorOf(mcpTools(server));
    await asked.opened;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await error).toMatchObject({ code: 'ERR_MCP_CONNECTION', message: expect.stringContaining(message) });
  });

  test.each(['initialize', 'notifications/initialized', 'tools/list', 'tools/call'])(
    'that never answers %s is left at once by close, and a call that waits fails',
    async (silent) => {
      let isSilent = silent === 'tools/call';
      const asked = createGate();
      const { server, requests } = await startRawServer(({ method }, response) => {
        if (isSilent && method === silent) {
          asked.open();
          return true;
        }
        if (!isSilent && method === 'tools/call') {
          isSilent = true;
          response.writeHead(404).end();
          return true;
        }
        return false;
      });
      const mcp = await mcpTools(server);
      const call = errorOf(callTool(mcp.tools, 'echo', fine));
      await asked.opened;
      await Promise.all([mcp.close(), mcp.close()]);
      expect(await call).toMatchObject({ code: 'ERR_MCP_CONNECTION', message: expect.stringMatching(/closed/) });
      expect(requests.length).toBeGreaterThan(2);
    },
  );

  test('that never ends its session is left after two seconds', async () => {
    const deleted = createGate();
    const http = createServer(async (request, response) => {
      if (request.method === 'GET') return void response.writeHead(405).end();
      if (request.method === 'DELETE') return deleted.open();
      let text = '';
      for await (const chunk of request) text += chunk;
      const { id, method } = JSON.parse(text);
      const info = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'x', version: '1' } };
      const result = method === 'initialize' ? info : { tools: [] };
      response.writeHead(id === undefined ? 202 : 200, { 'content-type': 'application/json', 'mcp-session-id': 's' });
      response.end(id === undefined ? undefined : JSON.stringify({ jsonrpc: '2.0', id, result }));
    }).listen(0, '127.0.0.1');
    await once(http, 'listening');
    onTestFinished(() => {
      http.closeAllConnections();
      http.close();
    });
    const mcp = await mcpTools({ url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp` });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const closing = mcp.close();
    await deleted.opened;
    await vi.advanceTimersByTimeAsync(2_000);
    await closing;
  });
});

/**
 * Returns a server whose process outlives its input and SIGTERM, and a function that waits for its id.
 *
 * @param silent method that the process never answers. Its id is known as soon as it is asked
 */
async function stubbornProcess(silent?: string): Promise<{ server: McpServer; pidOf: () => Promise<number> }> {
  const folder = await mkdtemp(join(tmpdir(), 'hubline-mcp-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'pid');
  const start = `
    process.on('SIGTERM', () => {});
    setInterval(() => {}, 1_000_000);`;
  const script = `
    if (request.method === ${JSON.stringify(silent ?? 'initialize')}) {
      require('node:fs').writeFileSync(${JSON.stringify(file)}, String(process.pid));
      return ${silent !== undefined};
    }`;
  const pidOf = () => vi.waitFor(async () => Number(await readFile(file, 'utf8')) || Promise.reject(new Error('none')));
  return { server: rawProcess(script, start), pidOf };
}

describe('a server process', () => {
  test.each([
    ['exits', 2, 'if (request.method === "tools/call") process.exit(1);', 'closed the connection; the call may'],
    [
      'closes its output',
      2,
      'if (request.method === "tools/call") { process.stdout.end(); process.exit(0); }',
      'closed the connection; the call may',
    ],
    [
      'writes a line of 11 MiB',
      1,
      `if (request.method === "tools/call") { process.stdout.write("x".repeat(${11 * mebibyte})); return true; }`,
      'sent a message of more than 10 MiB; the call may',
    ],
  ])(
    'that %s in every call fails it with an error, and is started again for the next',
    async (_, calls, script, message) => {
      const { tools } = await connected(rawProcess(script));
      for (let call = 0; call < calls; call += 1) {
        expect(await errorOf(callTool(tools, 'echo', fine))).toMatchObject({
          code: 'ERR_MCP_CONNECTION',
          server: process.execPath,
          message: expect.stringContaining(message),
        });
      }
    },
  );

  test('that writes noise, wrong messages and answers to no request works', async () => {
    const noise = ['starting ...', '', '{', '[]', 'null', '{"jsonrpc":"2.0"}', '\u001b[31mred', 'é😀'];
    const script = `
      for (const line of ${JSON.stringify(noise)}) process.stdout.write(line + '\\n');
      send({ id: 999, result: {} });
      send({ id: 'x', error: { code: 1, message: 'x' } });
      send({ method: 'notifications/unknown' });
      send({ id: 1, method: 'sampling/createMessage', params: {} });
      if (request.method === 'initialize') send({ method: 'notifications/tools/list_changed' });
      if (request.method === undefined) return true;`;
    const { tools } = await connected(rawProcess(script));
    for (let call = 0; call < 5; call += 1) expect(await callTool(tools, 'echo', fine)).toBe('fine');
  });

  test.each(['initialize', 'tools/list'])(
    'that never answers %s and ignores signals is killed before the error is thrown',
    async (silent) => {
      const { server, pidOf } = await stubbornProcess(silent);
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      let isSettled = false;
      const error = errorOf(mcpTools(server)).finally(() => {
        isSettled = true;
      });
      const pid = await pidOf();
      while (!isSettled) await vi.advanceTimersByTimeAsync(2_000);
      expect(await error).toMatchObject({ message: expect.stringContaining('did not answer in time') });
      vi.useRealTimers();
      await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'));
    },
  );

  test('that ignores signals is killed by close', async () => {
    const { server, pidOf } = await stubbornProcess();
    const mcp = await mcpTools(server);
    const pid = await pidOf();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let isSettled = false;
    const closing = mcp.close().finally(() => {
      isSettled = true;
    });
    while (!isSettled) await vi.advanceTimersByTimeAsync(1_000);
    await closing;
    vi.useRealTimers();
    await vi.waitFor(async () => expect(() => process.kill(pid, 0)).toThrow('ESRCH'));
  });

  test.each([
    ['is closed', false, ''],
    ['is closed while they hold its output', true, ''],
    ['exits by itself', false, 'if (request.method === "tools/call") process.exit(1);'],
    ['exits by itself while they hold its output', true, 'if (request.method === "tools/call") process.exit(1);'],
  ])('that %s takes its children along, though they ignore their input and SIGTERM', async (_, holdsOutput, script) => {
    const folder = await mkdtemp(join(tmpdir(), 'hubline-mcp-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const file = join(folder, 'pids');
    // The child writes the file once it ignores the signal.
    const child = `
      process.on('SIGTERM', () => {});
      setInterval(() => {}, 1_000_000);
      require('node:fs').writeFileSync(${JSON.stringify(file)}, process.ppid + ' ' + process.pid + ' ');`;
    const stdio = ['pipe', holdsOutput ? 'inherit' : 'ignore', 'ignore'];
    const start = `
      require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(child)}], {
        stdio: ${JSON.stringify(stdio)},
      });`;
    const mcp = await mcpTools(rawProcess(script, start));
    const pids = await vi.waitFor(async () => {
      const text = await readFile(file, 'utf8');
      return text.endsWith(' ') ? text.trim().split(' ').map(Number) : Promise.reject(new Error('none'));
    });
    onTestFinished(() => {
      for (const pid of pids) if (isRunning(pid)) process.kill(pid, 'SIGKILL');
    });
    expect(pids.map(isRunning)).toEqual([true, true]);
    if (script !== '') await errorOf(callTool(mcp.tools, 'echo', fine));
    await mcp.close();
    await vi.waitFor(() => expect(pids.map(isRunning)).toEqual([false, false]));
  });
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
