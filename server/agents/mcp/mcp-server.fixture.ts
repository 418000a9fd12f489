import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { createRequire } from 'node:module';
import { type AddressInfo, connect, createServer as createNetServer, type Server as NetServer } from 'node:net';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { onTestFinished } from 'vitest';
import { freePort } from '../../../scripts/listen-locally.js';
import { scriptedProvider } from '../../testing/scripted-provider.js';
import { createAgentContext } from '../agent/agent-context.js';
import type { Tool } from '../tools/tool.js';

const require = createRequire(import.meta.url);

/** Program of an official server. */
export function officialServer(name: 'everything' | 'filesystem'): string {
  return require.resolve(`@modelcontextprotocol/server-${name}/dist/index.js`);
}

/** An official server in a process of its own, with an HTTP endpoint that outlives it: requests wait for the next start. */
export interface HttpServerProcess {
  readonly url: string;
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** Starts the server `everything` with streamable HTTP. */
export async function startEverythingOverHttp(): Promise<HttpServerProcess> {
  const port = await freePort();
  let child: ChildProcess | undefined;
  let started: Promise<void> = Promise.resolve();
  let markStarted = (): void => {};
  const relay = createRelay(port, () => started);
  await once(relay.listen(0, '127.0.0.1'), 'listening');
  const server: HttpServerProcess = {
    url: `http://127.0.0.1:${(relay.address() as AddressInfo).port}/mcp`,
    async kill() {
      if (child === undefined) return;
      started = new Promise((resolve) => {
        markStarted = resolve;
      });
      const ended = once(child, 'close');
      child.kill('SIGKILL');
      await ended;
      child = undefined;
    },
    async start() {
      const spawned = spawn(process.execPath, [officialServer('everything'), 'streamableHttp'], {
        env: { ...process.env, PORT: String(port) },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      child = spawned;
      for await (const chunk of spawned.stderr) if (String(chunk).includes('listening')) break;
      markStarted();
    },
  };
  onTestFinished(async () => {
    await server.kill();
    relay.close();
  });
  await server.start();
  return server;
}

/** Creates a server that passes connections on to a port. Those that come before `ready` wait. */
function createRelay(port: number, ready: () => Promise<void>): NetServer {
  return createNetServer(async (client) => {
    const close = (): void => void client.destroy();
    client.on('error', close);
    await ready();
    const target = connect(port, '127.0.0.1', () => client.pipe(target).pipe(client));
    target.on('error', close).on('close', close);
    client.on('close', () => target.destroy());
  });
}

/** Tool of a {@link ScriptedMcpServer}. */
export interface ServedTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: Record<string, unknown>;
  readonly annotations?: Record<string, unknown>;
  /** Returns the result of a call, or throws. */
  readonly call?: (input: Record<string, unknown> | undefined, meta: Record<string, unknown>) => unknown;
}

/** A server over real HTTP whose tools a test controls. */
export interface ScriptedMcpServer {
  readonly url: string;
  /** Headers of the requests so far. */
  readonly headers: IncomingHttpHeaders[];
  /** Number of sessions so far. */
  readonly sessions: number;
  /** Replaces the tools, and notifies the clients. */
  setTools(tools: readonly ServedTool[]): Promise<void>;
  /** Ends all connections and forgets all sessions, as a restart does. */
  restart(): void;
}

/** Answer in place of the server. */
export interface Refusal {
  readonly status: number;
  readonly body: string;
  readonly headers?: Record<string, string>;
}

/** Starts a server with these tools. @param respond answers requests in place of the server */
export async function startMcpServer(
  initial: readonly ServedTool[],
  respond?: (headers: IncomingHttpHeaders) => Refusal | undefined,
): Promise<ScriptedMcpServer> {
  let tools = initial;
  const sessions = new Map<string, { server: Server; transport: StreamableHTTPServerTransport }>();
  const headers: IncomingHttpHeaders[] = [];
  let opened = 0;

  async function open(): Promise<StreamableHTTPServerTransport> {
    const server = new Server({ name: 'test', version: '1' }, { capabilities: { tools: { listChanged: true } } });
    server.setRequestHandler(ListToolsRequestSchema, () => ({
      tools: tools.map(({ call: _, ...tool }) => ({
        ...tool,
        inputSchema: { type: 'object' as const, ...tool.inputSchema },
      })),
    }));
    server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
      const tool = tools.find(({ name }) => name === params.name);
      if (tool?.call === undefined) throw new Error(`no tool ${params.name}`);
      return (await tool.call(params.arguments, params._meta ?? {})) as { content: [] };
    });
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => {
        opened += 1;
        sessions.set(id, { server, transport });
      },
    });
    // The SDK's own types disagree under exactOptionalPropertyTypes.
    await server.connect(transport as Parameters<Server['connect']>[0]);
    return transport;
  }

  const http = createServer(async (request, response) => {
    headers.push(request.headers);
    const answer = respond?.(request.headers);
    if (answer !== undefined) {
      const type = { 'content-type': 'application/json' };
      response.writeHead(answer.status, { ...type, ...answer.headers }).end(answer.body);
      return;
    }
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (id !== undefined && known === undefined) response.writeHead(404).end();
    else await (known?.transport ?? (await open())).handleRequest(request, response);
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    headers,
    get sessions() {
      return opened;
    },
    async setTools(next) {
      tools = next;
      await Promise.all([...sessions.values()].map(({ server }) => server.sendToolListChanged()));
    },
    restart() {
      sessions.clear();
      http.closeAllConnections();
    },
  };
}

/** Returns text content. */
export const text = (...texts: readonly string[]) => ({
  content: texts.map((value) => ({ type: 'text', text: value })),
});

/** Calls a tool as an agent would. */
export async function callTool(
  tools: readonly Tool[],
  name: string,
  input: unknown,
  signal?: AbortSignal,
): Promise<unknown> {
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined) throw new Error(`there is no tool ${name}`);
  return tool.execute(input, contextOf(signal));
}

function contextOf(signal: AbortSignal | undefined) {
  const delegate = () => Promise.reject(new Error('no delegates'));
  // A ledger is only read by budgets.
  const lineage = { chain: [], limits: undefined, ledger: {} as never, delegate, exchangeId: 'exchange' };
  const call = { id: 'call', name: 'tool' };
  return createAgentContext({ agentName: 'a', runId: 'r', lineage, payload: null, signal, hubCtx: undefined, call });
}

/** Provider that calls tools in sequence and then answers. */
export function callingProvider(calls: readonly { name: string; arguments?: unknown }[]) {
  return scriptedProvider([...calls.map((call) => ({ toolCalls: [call] })), 'done']);
}
