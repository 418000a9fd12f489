/**
 * Program that uses the package on the runtime that runs it: events, runs and dead letters in memory, on SQLite and on
 * Redis, an agent with a tool, and the dashboard over HTTP. Its argument is the URL of a Redis server.
 *
 * @module
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import {
  createDashboardFetch,
  createHub,
  createWorkflow,
  type Hub,
  memoryTransport,
  prometheus,
  type Transport,
} from 'hubline';
import { createAgent, createTool } from 'hubline/agents';
import { redisTransport } from 'hubline/redis';
import { sqliteTransport } from 'hubline/sqlite';
import { scriptedProvider } from 'hubline/testing';

type Fetch = (request: Request) => Promise<Response>;

/** The parts of the runtimes' globals that this program uses. */
interface Runtimes {
  readonly Bun?: {
    serve(options: { port: number; hostname: string; fetch: Fetch }): { port: number; stop(): unknown };
  };
  readonly Deno?: {
    serve(
      options: { port: number; hostname: string; onListen(): void },
      fetch: Fetch,
    ): { readonly addr: { readonly port: number }; shutdown(): Promise<void> };
  };
}

const { Bun, Deno }: Runtimes = globalThis as Runtimes;

/** Serves a function with the runtime's own server. Node has none that takes one. */
async function serve(fetch: Fetch): Promise<{ readonly url: string; close(): Promise<void> }> {
  const hostname = '127.0.0.1';
  if (Bun !== undefined) {
    const server = Bun.serve({ port: 0, hostname, fetch });
    return { url: `http://${hostname}:${server.port}`, close: async () => void (await server.stop()) };
  }
  if (Deno !== undefined) {
    const server = Deno.serve({ port: 0, hostname, onListen: () => {} }, fetch);
    return { url: `http://${hostname}:${server.addr.port}`, close: () => server.shutdown() };
  }
  const server = createServer(async ({ method = 'GET', url = '/', headers }, res) => {
    const sent = new Headers(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    const response = await fetch(new Request(`http://${hostname}${url}`, { method, headers: sent }));
    res.writeHead(response.status, Object.fromEntries(response.headers)).end(Buffer.from(await response.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, hostname, resolve));
  const address = server.address();
  assert(typeof address === 'object' && address !== null);
  return {
    url: `http://${hostname}:${address.port}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const limit = Date.now() + 30_000;
  while (!(await condition())) {
    assert(Date.now() < limit, 'the awaited condition did not become true within 30 s');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Runs events, a run, an agent and the dashboard of a hub. */
async function useHub(transport: Transport): Promise<void> {
  const hub = createHub({ service: 'smoke', transport });
  const handled: string[] = [];
  let isClosed = true;
  hub.event<{ order: string }>({
    type: 'order.placed',
    schema: { type: 'object', required: ['order'], properties: { order: { type: 'string' } } },
    handler: async ({ payload, emit }) => void (await emit('parcel.due', payload)),
  });
  hub.event<{ order: string }>({
    type: 'parcel.due',
    retry: { maxAttempts: 2, initialDelayMs: 1 },
    handler({ payload }) {
      if (isClosed) throw new Error('closed');
      handled.push(payload.order);
    },
  });
  const lookUp = createTool({
    name: 'look_up',
    description: 'Looks up an order.',
    parameters: { type: 'object', properties: { order: { type: 'string' } } },
    execute: async ({ order }: { order: string }) => ({ order, status: 'packed' }),
  });
  const model = scriptedProvider([{ toolCalls: [{ name: 'look_up', arguments: { order: 'a' } }] }, 'It is packed.']);
  const clerk = createAgent({
    name: 'clerk',
    systemPrompt: 'You answer customers.',
    model: { model: 'rehearsed' },
    provider: model,
    tools: [lookUp],
  });
  const answers: string[] = [];
  hub.event({ type: 'question.asked', handler: clerk.asHandler(), onSuccess: 'question.answered' });
  hub.event<{ output: string }>({
    type: 'question.answered',
    handler: ({ payload }) => void answers.push(payload.output),
  });
  const fulfil = createWorkflow({
    name: 'fulfil',
    run: async ({ step }) => {
      const sizes = await step.map('pick', ['a', 'bb'], (item) => item.length);
      await step.sleep('rest', 20);
      return step.run('sum', () => sizes.reduce((sum, size) => sum + size, 0));
    },
  });
  hub.workflow(fulfil);
  await hub.start();

  const [run] = await Promise.all([
    hub.startWorkflow(fulfil, null),
    hub.emit('order.placed', { order: 'a' }),
    hub.emit('question.asked', 'Where is my order?'),
  ]);
  assert.equal(await run.result(), 3);
  await assert.rejects(hub.emit('order.placed', {}), { code: 'ERR_SCHEMA_VALIDATION' });
  await until(async () => (await hub.deadLetters('parcel.due')).length === 1);
  isClosed = false;
  const [dead] = await hub.deadLetters('parcel.due');
  await hub.replay(dead?.id ?? '');
  await until(async () => (await hub.metrics('parcel.due')).completed === 1);
  assert.deepEqual(handled, ['a']);
  await until(async () => answers.length === 1);
  assert.deepEqual(answers, ['It is packed.']);
  model.assertDone();
  await useDashboard(hub);
  assert.match(await prometheus(hub).read(), /^hubline_completed_total\{.*name="parcel.due"\} 1$/m);
  assert.deepEqual(await hub.stop(), { released: 0, overdue: 0 });
}

/** Reads the page and its JSON from the runtime's server. */
async function useDashboard(hub: Hub): Promise<void> {
  const authorize = (request: Request): boolean => request.headers.get('cookie') === 'session=4b1f9e';
  const { url, close } = await serve(createDashboardFetch(hub, { basePath: '/ops', authorize }));
  const get = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${url}${path}`, { ...init, headers: { cookie: 'session=4b1f9e', ...init.headers } });
  const page = await get('/ops');
  assert.deepEqual([page.status, page.headers.get('content-type')], [200, 'text/html; charset=utf-8']);
  assert.match(await page.text(), /<html/);
  const introspection = await get('/ops/api/introspection');
  const body = await introspection.text();
  const { events } = JSON.parse(body) as { events: { type: string }[] };
  assert(events.some(({ type }) => type === 'order.placed'));
  const again = await get('/ops/api/introspection', {
    headers: { 'if-none-match': introspection.headers.get('etag') ?? '' },
  });
  await again.text();
  assert([200, 304].includes(again.status));
  const statuses = [get('/ops/api/events/order.placed'), get('/ops/nothing'), get('/ops', { method: 'POST' })];
  const refused = fetch(`${url}/ops`);
  const found = await Promise.all([...statuses, refused].map(async (response) => (await response).status));
  assert.deepEqual(found, [200, 404, 405, 401]);
  await close();
}

const [url = '', file = ''] = process.argv.slice(2);
const limit = setTimeout(() => process.exit(1), 120_000);
await useHub(memoryTransport());
await useHub(redisTransport({ url, prefix: randomUUID() }));
await useHub(sqliteTransport({ file }));
clearTimeout(limit);
console.log('ok');
