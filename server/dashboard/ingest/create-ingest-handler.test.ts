import { createHmac } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { createRequire } from 'node:module';
import express from 'express';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { createHub } from '../../hub/create-hub.js';
import { createEvent } from '../../hub/events/event.js';
import { startTestHub, type TestHub } from '../test-hub.fixture.js';
import { serve } from '../test-server.fixture.js';
import { createIngestFetch, createIngestHandler } from './create-ingest-handler.js';
import type { IngestFetchOptions, IngestOptions } from './ingest-options.js';
import type { OpenApiDocument } from './openapi.js';
import { verifyGitHub, verifyStripe } from './webhook-signatures.js';

const placed = createEvent({
  type: 'order.placed',
  description: 'An order came in',
  schema: z.object({ id: z.string(), items: z.array(z.object({ price: z.number().positive() })) }),
});
const order = { id: 'o-1', items: [{ price: 2 }] };

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of many forms
  readonly body: any;
}

type Post = (path: string, body: unknown, headers?: Record<string, string>) => Promise<Answer>;

type Options = Partial<Omit<IngestOptions & IngestFetchOptions, 'authorize'>> & {
  authorize?: (request: { headers: unknown }) => Awaited<ReturnType<IngestFetchOptions['authorize']>>;
};

const variants = ['node', 'fetch'] as const;

async function setUp(
  options: Options = {},
  variant: (typeof variants)[number] = 'node',
): Promise<TestHub & { post: Post; origin: string; handled: readonly unknown[] }> {
  const handled: unknown[] = [];
  const test = await startTestHub(['order.paid', 'secret.type', 'a/b'], {}, (hub) =>
    hub.event(placed, { handler: ({ payload }) => void handled.push(payload) }),
  );
  const all = { types: [placed, 'order.paid', 'a/b'], authorize: () => true, ...options };
  const handle = createIngestFetch(test.hub, all);
  const origin = variant === 'node' ? await listen(createIngestHandler(test.hub, all)) : 'http://127.0.0.1:4000';
  const send = variant === 'node' ? fetch : (url: string, init: RequestInit) => handle(new Request(url, init));
  return { ...test, origin, handled, post: poster(origin, send) };
}

async function listen(listener: RequestListener): Promise<string> {
  return `http://127.0.0.1:${(await serve(listener)).port}`;
}

function poster(origin: string, send: (url: string, init: RequestInit) => Promise<Response>): Post {
  return async (path, body, headers = {}) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const all = { 'content-type': 'application/json', ...headers };
    const response = await send(`${origin}${path}`, { method: 'POST', headers: all, body: text });
    return { status: response.status, headers: response.headers, body: await response.json() };
  };
}

describe.each(variants)('the handler for %s', (variant) => {
  it('accepts an event, and deduplicates it by its key', async () => {
    const { handled, post } = await setUp({}, variant);
    const first = await post('/order.placed', order, { 'idempotency-key': '"k-1"' });
    expect(first).toMatchObject({ status: 202, body: { deduplicated: false } });
    expect(first.headers.get('cache-control')).toBe('no-store');
    const again = await post('/order.placed', order, { 'idempotency-key': 'k-1' });
    expect(again).toMatchObject({ status: 202, body: { id: first.body.id, deduplicated: true } });
    await vi.waitFor(() => expect(handled).toEqual([order]));
    expect(await post(`/${encodeURIComponent('a/b')}`, null)).toMatchObject({ status: 202 });
  });

  it('accepts several events, and names the error of each', async () => {
    const { post } = await setUp({}, variant);
    const wrong = { id: 'o-2', items: [{ price: 1 }, { price: -1 }] };
    const events = [
      { type: 'order.placed', payload: order, id: 'a' },
      { type: 'order.placed', payload: wrong },
      { type: 'order.paid', payload: { by: 'card' }, delayMs: 1_000, priority: 3, requestId: 'r-1' },
      { type: 'secret.type', payload: 1 },
      { type: 'order.paid', payload: 1, priority: 1_000 },
      { type: 'order.paid' },
      'order.paid',
      { type: 'order.paid', payload: 1, dedupe: 'x' },
    ];
    const { status, body } = await post('/', events, { 'idempotency-key': 'batch' });
    expect([status, body.accepted]).toEqual([207, 2]);
    expect(body.events.map((event: { error?: { code: string } }) => event.error?.code ?? 'accepted')).toEqual([
      'accepted',
      'ERR_SCHEMA_VALIDATION',
      'accepted',
      'ERR_UNKNOWN_EVENT',
      'ERR_INVALID_OPTION',
      'ERR_INVALID_OPTION',
      'ERR_INVALID_OPTION',
      'ERR_INVALID_OPTION',
    ]);
    expect(body.events[1].error.issues).toMatchObject([{ path: 'payload.items[1].price' }]);
    const again = await post('/', events, { 'idempotency-key': 'batch' });
    expect(again.body.events[0]).toEqual({ id: body.events[0].id, deduplicated: true });
    expect(again.body.events[2]).toEqual({ id: body.events[2].id, deduplicated: true });
    expect(await post('/', { type: 'order.paid', payload: 1 })).toMatchObject({ status: 202, body: { accepted: 1 } });
    expect(await post('/', [{ type: 'order.placed', payload: wrong }])).toMatchObject({ status: 422 });
  });

  it('accepts 1,000 events, and refuses more at once', async () => {
    const { post, hub } = await setUp({ maxPerSecond: 5_000 }, variant);
    const events = Array.from({ length: 1_000 }, (_, i) => ({ type: 'order.paid', payload: i }));
    expect(await post('/', events)).toMatchObject({ status: 202, body: { accepted: 1_000 } });
    const refused = { status: 400, body: { error: { code: 'ERR_INVALID_REQUEST' } } };
    expect(await post('/', [...events, events[0]])).toMatchObject(refused);
    expect(await post('/', [])).toMatchObject(refused);
    expect(await hub.metrics('order.paid')).toMatchObject({ received: 1_000 });
  });

  it('refuses what is not JSON, too large, unknown, or sent by a form', async () => {
    const { post, origin, hub } = await setUp({ maxBytes: 100 }, variant);
    const codeOf = async (answer: Promise<Answer>) => [(await answer).status, (await answer).body.error.code];
    expect(await codeOf(post('/order.paid', '{'))).toEqual([400, 'ERR_INVALID_REQUEST']);
    expect(await codeOf(post('/order.paid', 'x'.repeat(101)))).toEqual([413, 'ERR_INVALID_REQUEST']);
    expect(await codeOf(post('/secret.type', {}))).toEqual([404, 'ERR_UNKNOWN_EVENT']);
    expect(await codeOf(post('/%E0%A4%A', {}))).toEqual([404, 'ERR_UNKNOWN_EVENT']);
    expect(await codeOf(post('/order.paid', {}, { 'content-type': 'text/plain' }))).toEqual([
      415,
      'ERR_UNSUPPORTED_MEDIA_TYPE',
    ]);
    expect(await codeOf(post('/order.paid', '{"__proto__":{"a":1}}'))).toEqual([422, 'ERR_PAYLOAD_NOT_JSON']);
    expect(await codeOf(post('/order.paid', {}, { 'idempotency-key': 'k'.repeat(513) }))).toEqual([
      400,
      'ERR_INVALID_OPTION',
    ]);
    expect(await hub.metrics('order.paid')).toMatchObject({ received: 0 });
    if (variant === 'node') {
      expect((await fetch(`${origin}/order.paid`)).status).toBe(405);
      expect((await fetch(`${origin}/openapi.json`, { method: 'POST' })).headers.get('allow')).toBe('GET');
    }
  });

  it.each([
    [false, 401, 'ERR_UNAUTHORIZED'],
    [null, 401, 'ERR_UNAUTHORIZED'],
    ['yes', 500, 'ERR_INTERNAL'],
    [{ client: '' }, 500, 'ERR_INTERNAL'],
    [undefined, 500, 'ERR_INTERNAL'],
  ])('denies access if authorize returns %j', async (answer, status, code) => {
    const { hub, post } = await setUp({ authorize: () => answer as boolean }, variant);
    expect(await post('/order.paid', 1)).toMatchObject({ status, body: { error: { code } } });
    expect(await hub.metrics('order.paid')).toMatchObject({ received: 0 });
  });

  it('separates the keys of clients', async () => {
    const clients = ['a', 'a:b', 'a'];
    const { post } = await setUp({ authorize: () => ({ client: clients.shift() ?? 'a' }) }, variant);
    const first = await post('/order.paid', 1, { 'idempotency-key': 'b:1' });
    const second = await post('/order.paid', 1, { 'idempotency-key': '1' });
    const third = await post('/order.paid', 1, { 'idempotency-key': 'b:1' });
    expect([first, second, third].map(({ body }) => body.deduplicated)).toEqual([false, false, true]);
  });

  it.each(['', '""'])('refuses the empty idempotency key %j', async (key) => {
    const { post, hub } = await setUp({ authorize: () => ({ client: 'acme' }) }, variant);
    const refused = { status: 400, body: { error: { code: 'ERR_INVALID_REQUEST' } } };
    expect(await post('/order.paid', 1, { 'idempotency-key': key })).toMatchObject(refused);
    expect(await post('/', [{ type: 'order.paid', payload: 1 }], { 'idempotency-key': key })).toMatchObject(refused);
    expect(await hub.metrics('order.paid')).toMatchObject({ received: 0 });
  });

  it('refuses a delivery with an empty id', async () => {
    const { post } = await setUp({ verify: () => ({ id: '' }) }, variant);
    expect(await post('/order.paid', 1)).toMatchObject({
      status: 400,
      body: { error: { code: 'ERR_INVALID_REQUEST' } },
    });
  });

  it.each(['会社'.repeat(128), 'x'.repeat(256)])('takes keys of the client %j', async (client) => {
    const { post } = await setUp({ authorize: () => ({ client }) }, variant);
    const headers = { 'idempotency-key': 'k'.repeat(500) };
    const events = [1, 2].map((payload) => ({ type: 'order.paid', payload }));
    const one = await post('/order.paid', 1, headers);
    expect(await post('/order.paid', 1, headers)).toMatchObject({ body: { id: one.body.id, deduplicated: true } });
    const [first, again] = [await post('/', events, headers), await post('/', events, headers)];
    expect([first.status, first.body.accepted]).toEqual([202, 2]);
    expect(again.body.events).toEqual(first.body.events.map(({ id }: { id: string }) => ({ id, deduplicated: true })));
  });

  it('accepts as many events per second as it may', async () => {
    const { post, clock, lines } = await setUp({ maxPerSecond: 3 }, variant);
    const events = Array.from({ length: 5 }, (_, i) => ({ type: 'order.paid', payload: i }));
    const { status, headers, body } = await post('/', events);
    expect([status, headers.get('retry-after'), body.accepted]).toEqual([207, '1', 3]);
    expect(await post('/order.paid', 1)).toMatchObject({
      status: 429,
      body: { error: { code: 'ERR_TOO_MANY_EVENTS' } },
    });
    expect(lines.filter(({ message }) => message.includes('maxPerSecond'))).toHaveLength(1);
    await clock.advance(1_000);
    expect(await post('/order.paid', 1)).toMatchObject({ status: 202 });
  });

  it('verifies signatures of the bytes that arrived, and deduplicates what a vendor repeats', async () => {
    const { post, clock, hub } = await setUp({ verify: verifyStripe({ secret: 'whsec_x' }) }, variant);
    const body = '{ "id": "evt_1",  "type": "charge.refunded" }';
    const t = Math.floor(clock.now() / 1_000);
    const v1 = createHmac('sha256', 'whsec_x').update(`${t}.${body}`).digest('hex');
    const signed = { 'stripe-signature': `t=${t},v1=${v1}` };
    const first = await post('/order.paid', body, signed);
    expect(first).toMatchObject({ status: 202, body: { deduplicated: false } });
    expect(await post('/order.paid', body, signed)).toMatchObject({ body: { id: first.body.id, deduplicated: true } });
    const refused = { status: 401, body: { error: { code: 'ERR_INVALID_SIGNATURE' } } };
    expect(await post('/order.paid', body.replace('  ', ' '), signed)).toMatchObject(refused);
    expect(await post('/order.paid', body)).toMatchObject(refused);
    expect(await hub.metrics('order.paid')).toMatchObject({ received: 1 });
  });

  it.each([
    [null, 401],
    [undefined, 401],
    [false, 401],
    [true, 500],
    [{ id: 1 }, 500],
    [{}, 202],
  ])('lets nothing but a delivery pass: verify returns %j', async (result, status) => {
    const { post } = await setUp({ verify: () => result as object }, variant);
    expect(await post('/order.paid', 1)).toMatchObject({ status });
  });

  it('names no cause of its own failures', async () => {
    const verify = () => Promise.reject(new Error('vault of acme.example is down'));
    const { post, lines } = await setUp({ verify }, variant);
    const answer = await post('/order.paid', 1);
    expect(answer).toMatchObject({ status: 500, body: { error: { code: 'ERR_INTERNAL' } } });
    expect(JSON.stringify(answer.body)).not.toContain('acme');
    expect(lines.filter(({ message }) => message === 'ingest: a request failed')).toHaveLength(1);
  });
});

it('does not name types that are not its own', async () => {
  const { hub } = await startTestHub(['order.paid']);
  const options = { types: ['order.paidd'], authorize: () => true };
  const post = poster(await listen(createIngestHandler(hub, options)), fetch);
  const answer = await post('/order.paidd', 1);
  expect(answer).toMatchObject({ status: 404, body: { error: { code: 'ERR_UNKNOWN_EVENT' } } });
  expect(JSON.stringify(answer.body)).not.toContain('order.paid');
});

it('responds with 503 while the hub does not accept events', async () => {
  const hub = createHub({ logger: false });
  hub.event({ type: 'order.paid' });
  const post = poster(await listen(createIngestHandler(hub, { types: ['order.paid'], authorize: () => true })), fetch);
  expect(await post('/order.paid', 1)).toMatchObject({ status: 503, body: { error: { code: 'ERR_HUB_NOT_STARTED' } } });
  expect(await post('/', [{ type: 'order.paid', payload: 1 }])).toMatchObject({ status: 503, body: { accepted: 0 } });
});

it('works below Express, before and after a parser, and refuses to verify a body that was parsed', async () => {
  const { hub, lines } = await startTestHub(['order.paid']);
  const app = express();
  const options = { types: ['order.paid'], authorize: () => true };
  const verify = verifyGitHub({ secret: 's' });
  app.use('/signed', createIngestHandler(hub, { ...options, verify }));
  app.use(
    express.json({
      verify: (req, _, buffer) => void Object.assign(req, req.url === '/kept/order.paid' && { rawBody: buffer }),
    }),
  );
  app.use('/plain', createIngestHandler(hub, options));
  app.use('/parsed', createIngestHandler(hub, { ...options, verify }));
  app.use('/kept', createIngestHandler(hub, { ...options, verify }));
  const origin = await listen(app);
  const post = poster(origin, fetch);
  const signature = `sha256=${createHmac('sha256', 's').update('{"a":1}').digest('hex')}`;
  const headers = { 'x-hub-signature-256': signature, 'x-github-delivery': 'd-1' };
  expect(await post('/plain/order.paid', { a: 1 })).toMatchObject({ status: 202 });
  expect(await post('/signed/order.paid', { a: 1 }, headers)).toMatchObject({
    status: 202,
    body: { deduplicated: false },
  });
  expect(await post('/kept/order.paid', { a: 1 }, headers)).toMatchObject({
    status: 202,
    body: { deduplicated: true },
  });
  expect(await post('/parsed/order.paid', { a: 1 }, headers)).toMatchObject({ status: 500 });
  expect(lines.map(({ fields }) => String('err' in fields && fields.err)).join()).toContain('mount it before parsers');
  const document = await (await fetch(`${origin}/plain/openapi.json`)).json();
  expect(document).toMatchObject({ servers: [{ url: '/plain' }] });
});

it('describes the types as OpenAPI, with schemas whose references resolve', async () => {
  const tree = {
    type: 'object',
    required: ['root'],
    properties: { root: { $ref: '#/$defs/node' }, all: { type: 'array', items: { $ref: '#' } } },
    $defs: {
      node: {
        type: 'object',
        required: ['name'],
        properties: { name: { const: '#' }, next: { $ref: '#/$defs/node' } },
      },
    },
  };
  const hub = createHub({ service: 'shop', logger: false });
  hub.event({ type: 'tree changed', schema: tree });
  const types = [placed, 'tree changed', 'unknown.type'];
  const handle = createIngestFetch(hub, { basePath: '/hooks', types, authorize: () => true });
  const response = await handle(new Request('http://localhost/hooks/openapi.json'));
  // biome-ignore lint/suspicious/noExplicitAny: the document is checked below
  const document: any = await response.json();
  expect(document).toMatchObject({
    openapi: '3.1.0',
    info: { title: 'Events of shop' },
    servers: [{ url: '/hooks' }],
    paths: {
      '/': { post: { operationId: 'emitMany' } },
      '/order.placed': {
        post: {
          operationId: 'order.placed',
          summary: 'An order came in',
          requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/order.placed' } } } },
        },
      },
      '/tree%20changed': { post: { operationId: 'type-2' } },
      '/unknown.type': { post: { summary: 'Emits unknown.type.' } },
    },
  });
  // As loaded by the library.
  const { default: Ajv } = createRequire(import.meta.url)('ajv/dist/2020');
  const ajv = new Ajv({ strict: false });
  ajv.addSchema(document, 'document');
  const many = document.paths['/'].post.requestBody.content['application/json'].schema;
  ajv.addSchema({ ...JSON.parse(JSON.stringify(many).replaceAll('"#/', '"document#/')) }, 'many');
  const accepts = (schema: string, value: unknown): unknown => ajv.validate({ $ref: schema }, value);
  expect(accepts('document#/components/schemas/order.placed', order)).toBe(true);
  expect(accepts('document#/components/schemas/order.placed', { ...order, items: [{ price: 'x' }] })).toBe(false);
  expect(accepts('document#/components/schemas/type-2', { root: { name: '#', next: { name: '#' } } })).toBe(true);
  expect(accepts('document#/components/schemas/type-2', { root: { name: '#', next: { name: 'x' } } })).toBe(false);
  expect(accepts('document#/components/schemas/type-2', { root: { name: '#' }, all: [{}] })).toBe(false);
  expect(accepts('many', [{ type: 'order.placed', payload: order }])).toBe(true);
  expect(accepts('many', [{ type: 'order.placed', payload: {} }])).toBe(false);
});

it('gives each type a schema of its own in the document', async () => {
  const types = ['x y', 'type-1', 'type-1_', 'AcceptedEvent', 'emitMany'];
  const { hub } = await startTestHub(types);
  const handle = createIngestFetch(hub, { types, authorize: () => true });
  const response = await handle(new Request('http://127.0.0.1/openapi.json'));
  const { paths } = (await response.json()) as OpenApiDocument;
  const ids = Object.values(paths as Record<string, { post: { operationId: string } }>).map(
    ({ post }) => post.operationId,
  );
  expect(ids.sort()).toEqual(['emitMany', 'type-1', 'type-1_', 'type-1__', 'type-4', 'type-5']);
});

it('logs once that an event of types is not registered', async () => {
  const { hub, lines } = await startTestHub([]);
  const handle = createIngestFetch(hub, { types: ['order.paid'], authorize: () => true });
  const post = poster('http://127.0.0.1', (url, init) => handle(new Request(url, init)));
  for (let n = 0; n < 2; n += 1) expect(await post('/order.paid', 1)).toMatchObject({ status: 404 });
  const told = lines.filter(({ message }) => message.includes('an event of types is not registered'));
  expect(told).toHaveLength(1);
});

it('refuses a payload whose tags are not valid', async () => {
  const { hub } = await startTestHub([], {}, (it) =>
    it.event({ type: 'order.paid', tags: (by: unknown) => [String(by)], handler: () => {} }),
  );
  const handle = createIngestFetch(hub, { types: ['order.paid'], authorize: () => true });
  const post = poster('http://127.0.0.1', (url, init) => handle(new Request(url, init)));
  const refused = { status: 422, body: { error: { code: 'ERR_INVALID_TAGS' } } };
  expect(await post('/order.paid', ['x'.repeat(65)])).toMatchObject(refused);
});

it('checks its options', async () => {
  const { hub } = await startTestHub([]);
  const valid = { types: ['order.created'], authorize: () => true };
  const create = (options: object) => () => createIngestHandler(hub, { ...valid, ...options } as IngestOptions);
  expect(create({})).not.toThrow();
  expect(create({ authorize: undefined })).toThrow('authorize of createIngestHandler must be set');
  expect(create({ authorise: vi.fn() })).toThrow('option of createIngestHandler');
  expect(create({ types: [] })).toThrow('types of createIngestHandler');
  expect(create({ types: [{}] })).toThrow('types of createIngestHandler');
  expect(create({ maxBytes: 0 })).toThrow('maxBytes');
  expect(create({ maxPerSecond: 1.5 })).toThrow('maxPerSecond');
  expect(create({ verify: 'secret' })).toThrow('verify of createIngestHandler must be a function, got a string');
  expect(() => createIngestFetch({} as never, valid)).toThrow('a hub created by createHub');
});
