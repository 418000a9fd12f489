import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { McpServer } from './mcp-server.js';

/** JSON-RPC message that a server received. */
export interface RawRequest {
  readonly id: number | undefined;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Answers a request of the protocol in place of the server. Returns `false` to let the server answer. */
export type RawAnswer = (request: RawRequest, response: ServerResponse) => boolean | Promise<boolean>;

/** A server that checks nothing that it sends, and the requests that it received. */
export interface RawServer {
  readonly server: McpServer;
  readonly requests: readonly RawRequest[];
}

const initialized = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: { listChanged: true } },
  serverInfo: { name: 'hostile', version: '1' },
};

/** A tool whose answer is in the arguments of its call. */
const echo = { name: 'echo', inputSchema: { type: 'object' }, annotations: { idempotentHint: true } };

/**
 * Starts a server over HTTP without sessions. Its tool `echo` answers with the `answer` of its arguments, which has
 * `result` or `error`.
 */
export async function startRawServer(respond: RawAnswer = () => false): Promise<RawServer> {
  const requests: RawRequest[] = [];
  const http = createServer(async (incoming, response) => {
    let text = '';
    for await (const chunk of incoming) text += chunk;
    if (incoming.method !== 'POST') return void response.writeHead(405).end();
    const request = { params: {}, id: undefined, ...JSON.parse(text) } as RawRequest;
    requests.push(request);
    if (await respond(request, response)) return;
    if (request.id === undefined) return void response.writeHead(202).end();
    sendJson(response, request, answerOf(request));
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return { server: { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp` }, requests };
}

/** Sends an answer to a request. */
export function sendJson(response: ServerResponse, { id }: RawRequest, answer: object): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
}

function answerOf({ method, params }: RawRequest): object {
  if (method === 'initialize') return { result: initialized };
  if (method === 'tools/list') return { result: { tools: [echo] } };
  if (method === 'tools/call') return (params['arguments'] as { answer: object }).answer;
  return { result: {} };
}

/**
 * Returns a server that is a process of its own, with the same tool.
 *
 * @param script code that runs before each answer. It reads `request`, calls `send` or `process`, and returns `true`
 * if the server must not answer.
 * @param start code that runs when the process starts
 */
export function rawProcess(script = '', start = ''): McpServer {
  const program = `
    ${start}
    const initialized = ${JSON.stringify(initialized)}, echo = ${JSON.stringify(echo)};
    const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
    const intercept = (request) => { ${script} };
    const answerOf = ({ method, params }) =>
      method === 'initialize' ? { result: initialized }
        : method === 'tools/list' ? { result: { tools: [echo] } }
        : method === 'tools/call' ? params.arguments.answer
        : { result: {} };
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const request = JSON.parse(line);
      if (intercept(request) !== true && request.id !== undefined) send({ id: request.id, ...answerOf(request) });
    });`;
  return { command: process.execPath, args: ['-e', program] };
}

/** A promise that `open` resolves. */
export function createGate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}
