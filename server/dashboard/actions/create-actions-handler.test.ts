import { request } from 'node:http';
import express from 'express';
import { describe, expect, it, vi } from 'vitest';
import type { Hub } from '../../hub/hub.js';
import { createDashboardHandler } from '../create-dashboard-handler.js';
import { startTestHub, type TestHub } from '../test-hub.fixture.js';
import { serve } from '../test-server.fixture.js';
import { rights } from './actions-options.js';
import { createActionsFetch, createActionsHandler } from './create-actions-handler.js';

const ada = { user: 'ada', can: rights };
const json = { 'content-type': 'application/json' };

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Record<string, unknown>;
}

/** Sends a request as a page of the same origin does, unless other headers are given. */
type Send = (path: string, body?: unknown, headers?: Record<string, string | undefined>) => Promise<Answer>;

async function serveActions(
  hub: Hub,
  options: Partial<Parameters<typeof createActionsHandler>[1]> = {},
): Promise<Send> {
  const { port } = await serve(createActionsHandler(hub, { authorize: () => ada, ...options }));
  return (path, body, headers = {}) =>
    new Promise((resolve, reject) => {
      const method = body === undefined ? 'GET' : 'POST';
      const all = body === undefined ? headers : { ...json, origin: `http://127.0.0.1:${port}`, ...headers };
      const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
      const req = request({ host: '127.0.0.1', port, method, path, headers: sent, agent: false }, (res) => {
        let text = '';
        res.on('data', (chunk) => {
          text += chunk;
        });
        res.on('end', () => resolve({ status: res.statusCode ?? 0, headers: res.headers, body: JSON.parse(text) }));
      });
      req.on('error', reject);
      req.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body));
    });
}

/** Emits events that fail, and returns their ids. */
async function failSome({ hub, clock }: TestHub, count: number): Promise<string[]> {
  const receipts = await hub.emitMany(
    'order.refused',
    Array.from({ length: count }, (_, i) => ({ i })),
  );
  await clock.settle();
  return receipts.map(({ id }) => id);
}

describe('access', () => {
  it('lists the rights of the user', async () => {
    const { hub } = await startTestHub([]);
    const send = await serveActions(hub, { authorize: async () => ({ user: 'bob', can: ['replay', 'audit'] }) });
    expect(await send('/')).toMatchObject({ status: 200, body: { user: 'bob', can: ['replay', 'audit'] } });
  });

  it('has the right to retire only with a transport that can', async () => {
    const { hub } = await startTestHub([]);
    const retire = vi.fn(async () => ({ events: 2, deadLetters: 1 }));
    const without = await serveActions(hub);
    expect((await without('/')).body['can']).not.toContain('retire');
    expect(await without('/retire', { service: 'old' })).toMatchObject({ status: 403 });
    const send = await serveActions(hub, { transport: { retire } });
    expect(await send('/retire', { service: 'old', discard: true })).toMatchObject({
      status: 200,
      body: { events: 2, deadLetters: 1 },
    });
    expect(retire).toHaveBeenCalledWith('old', { discard: true });
  });

  it.each([
    ['null', () => null, 401, 'ERR_UNAUTHORIZED'],
    ['an error', () => Promise.reject(new Error('session store is down')), 500, 'ERR_INTERNAL'],
    ['an unknown right', () => ({ user: 'ada', can: ['everything'] }), 500, 'ERR_INTERNAL'],
    ['no name', () => ({ user: '', can: [] }), 500, 'ERR_INTERNAL'],
    ['undefined', () => undefined, 500, 'ERR_INTERNAL'],
    ['true', () => true, 500, 'ERR_INTERNAL'],
  ])('is denied if authorize returns %s', async (_, authorize, status, code) => {
    const { hub } = await startTestHub([]);
    const send = await serveActions(hub, { authorize: authorize as () => null });
    const answer = await send('/replay', { id: 'e-1' });
    expect(answer).toMatchObject({ status, body: { error: { code } } });
    expect(JSON.stringify(answer.body)).not.toContain('session store');
  });

  it('is denied if authorize does not settle within 10 seconds', async () => {
    const { hub, clock } = await startTestHub([]);
    const asked = vi.fn(() => new Promise<never>(() => {}));
    const send = await serveActions(hub, { authorize: asked });
    const answer = send('/');
    await vi.waitFor(() => expect(asked).toHaveBeenCalled());
    await clock.advance(10_000);
    expect(await answer).toMatchObject({ status: 503 });
  });

  it.each(rights)('needs the right to %s, and nothing happens without it', async (right) => {
    const test = await startTestHub([]);
    const [id] = await failSome(test, 1);
    const can = rights.filter((other) => other !== right);
    const send = await serveActions(test.hub, { authorize: () => ({ user: 'bob', can }) });
    const body = { id, type: 'order.refused', reason: 'r', service: 'shop', requestId: id };
    expect(await send(`/${right}`, body)).toMatchObject({ status: 403, body: { error: { code: 'ERR_FORBIDDEN' } } });
    expect(await test.hub.audit()).toEqual([]);
    expect(await test.hub.metrics('order.refused')).toMatchObject({ deadLetters: 1 });
  });
});

describe('requests of other origins', () => {
  it.each<[string, Record<string, string | undefined>, number]>([
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['a form that sends JSON as text', { 'content-type': 'text/plain' }, 415],
    ['a type that begins like JSON', { 'content-type': 'application/jsonp' }, 415],
    ['no type', { 'content-type': undefined }, 415],
    ['no origin', { origin: undefined }, 403],
    ['the origin null', { origin: 'null' }, 403],
    ['a foreign origin', { origin: 'https://evil.example' }, 403],
    ['another port', { origin: 'http://127.0.0.1:1' }, 403],
    ['a name that begins like the host', { origin: 'http://127.0.0.1.evil.example' }, 403],
    ['a file', { origin: 'file://127.0.0.1' }, 403],
    ['another site by its metadata', { 'sec-fetch-site': 'cross-site' }, 403],
    ['a sibling by its metadata', { 'sec-fetch-site': 'same-site' }, 403],
    ['the user by its metadata', { 'sec-fetch-site': 'none' }, 403],
  ])('are refused before authorize: %s', async (_, headers, status) => {
    const test = await startTestHub([]);
    const [id] = await failSome(test, 1);
    const authorize = vi.fn(() => ada);
    const send = await serveActions(test.hub, { authorize });
    expect(await send('/replay', { id }, headers)).toMatchObject({ status });
    expect(authorize).not.toHaveBeenCalled();
    expect(await test.hub.metrics('order.refused')).toMatchObject({ deadLetters: 1, received: 1 });
  });

  it('are those outside of allowedOrigins, if there are any', async () => {
    const test = await startTestHub([]);
    const send = await serveActions(test.hub, { allowedOrigins: ['https://ops.example.com'] });
    expect(await send('/audit', {}, {})).toMatchObject({ status: 403 });
    expect(await send('/audit', {}, { origin: 'https://ops.example.com' })).toMatchObject({ status: 200 });
    expect(await send('/audit', {}, { origin: 'https://ops.example.com.evil.example' })).toMatchObject({ status: 403 });
  });

  it('are told from those of the same origin by any way to write the host', async () => {
    const test = await startTestHub([]);
    const send = await serveActions(test.hub);
    const headers = { host: 'OPS.example.com:80', origin: 'http://ops.example.com', 'sec-fetch-site': 'same-origin' };
    expect(await send('/audit', {}, headers)).toMatchObject({ status: 200 });
  });

  it('cannot read: neither the rights nor, by headers, the answers', async () => {
    const { hub } = await startTestHub([]);
    const send = await serveActions(hub);
    expect(await send('/', undefined, { 'sec-fetch-site': 'cross-site' })).toMatchObject({ status: 403 });
    const { headers } = await send('/');
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    });
    expect(headers).not.toHaveProperty('access-control-allow-origin');
  });
});

describe('actions', () => {
  it('replay and cancel one event, and record who did it and why', async () => {
    const test = await startTestHub([]);
    const { hub, clock } = test;
    const [id = ''] = await failSome(test, 1);
    const send = await serveActions(hub);
    expect(await send('/replay', { id, reason: 'bank is back' })).toMatchObject({ status: 200, body: { done: 1 } });
    await clock.settle();
    expect(await hub.metrics('order.refused')).toMatchObject({ received: 2, failed: 2 });
    const { id: late } = await hub.emit('order.created', {}, { delayMs: 60_000 });
    expect(await send('/cancel', { id: late })).toMatchObject({ status: 200, body: { done: 1 } });
    expect(await hub.audit()).toMatchObject([
      { action: 'cancel', by: 'ada', via: 'page', target: { id: late } },
      { action: 'replay', by: 'ada', via: 'page', reason: 'bank is back', target: { id, service: 'shop' } },
    ]);
  });

  it('fork a run from a step, with another input', async () => {
    const { hub, clock } = await startTestHub([]);
    const { runId } = await hub.startWorkflow('refund', { order: 1 });
    await clock.settle();
    const send = await serveActions(hub);
    const body = { id: runId, service: 'shop', fromStep: 'pay back', input: { order: 2 }, reason: 'bank is back' };
    const { body: forked } = await send('/fork', body);
    expect(forked).toMatchObject({ done: 1, id: expect.any(String) });
    await clock.settle();
    expect(await hub.find(String(forked['id']), { payloads: true })).toMatchObject([
      { payload: { order: 2 }, forkOf: { runId, step: 'pay back' } },
    ]);
    expect(await hub.audit()).toMatchObject([
      { action: 'fork', by: 'ada', reason: 'bank is back', target: { id: runId, step: 'pay back' } },
    ]);
    expect(await send('/fork', { id: runId, fromStep: 'pay bock' })).toMatchObject({
      status: 404,
      body: { error: { code: 'ERR_UNKNOWN_STEP' } },
    });
  });

  it('pause and resume', async () => {
    const { hub } = await startTestHub([]);
    const send = await serveActions(hub);
    expect(await send('/pause', { type: 'order.created' })).toMatchObject({ status: 400 });
    expect(await send('/pause', { type: 'order.created', reason: 'bank is down' })).toMatchObject({ status: 200 });
    expect(await hub.pauses()).toMatchObject([{ by: 'ada', reason: 'bank is down' }]);
    expect(await send('/resume', { type: 'order.created' })).toMatchObject({ body: { done: 1 } });
    expect(await send('/resume', { type: 'order.created' })).toMatchObject({ body: { done: 0 } });
    expect(await send('/pause', { type: 'order.creatd', reason: 'r' })).toMatchObject({
      status: 404,
      body: { error: { code: 'ERR_UNKNOWN_TARGET' } },
    });
  });

  it('erase a request', async () => {
    const test = await startTestHub([]);
    const [id = ''] = await failSome(test, 1);
    const send = await serveActions(test.hub);
    expect(await send('/erase', { requestId: id })).toMatchObject({ status: 200, body: { deadLetters: 1 } });
    expect(await test.hub.metrics('order.refused')).toMatchObject({ deadLetters: 0 });
  });

  it.each<[string, string, unknown, number, string]>([
    ['an unknown event', 'replay', { id: 'e-1' }, 404, 'ERR_UNKNOWN_DEAD_LETTER'],
    ['an ended event', 'cancel', { id: 'e-1' }, 404, 'ERR_UNKNOWN_EVENT_ID'],
    ['an approval that nobody waits for', 'approve', { id: 'e-1' }, 404, 'ERR_NO_APPROVAL'],
    ['contents that are gone', 'payload', { id: 'e-1' }, 404, 'ERR_UNKNOWN_EVENT_ID'],
    ['no JSON', 'replay', '{', 400, 'ERR_INVALID_ACTION'],
    ['a list', 'replay', [], 400, 'ERR_INVALID_ACTION'],
    ['nothing', 'replay', {}, 400, 'ERR_INVALID_ACTION'],
    ['two subjects', 'replay', { id: 'e-1', ids: ['e-2'] }, 400, 'ERR_INVALID_ACTION'],
    ['a misspelt field', 'replay', { ids: ['e-1'], reson: 'r' }, 400, 'ERR_INVALID_ACTION'],
    ['a wrong id', 'replay', { id: 7 }, 400, 'ERR_INVALID_ACTION'],
    ['no ids', 'replay', { ids: [] }, 400, 'ERR_INVALID_ACTION'],
    ['too many ids', 'replay', { ids: Array.from({ length: 101 }, (_, i) => `e-${i}`) }, 400, 'ERR_INVALID_ACTION'],
    ['a reason of two lines', 'replay', { id: 'e-1', reason: 'a\nb' }, 400, 'ERR_INVALID_ACTION'],
    ['an unknown type', 'replay', { filter: { type: 'x' }, preview: true }, 404, 'ERR_UNKNOWN_EVENT'],
    ['two targets', 'pause', { type: 'a', service: 'b', reason: 'r' }, 400, 'ERR_INVALID_ACTION'],
    ['a cancel by type', 'cancel', { filter: { type: 'order.created' } }, 400, 'ERR_INVALID_ACTION'],
    ['a large body', 'replay', JSON.stringify({ id: 'x'.repeat(300_000) }), 413, 'ERR_INVALID_ACTION'],
  ])('answer %s with an error', async (_, action, body, status, code) => {
    const { hub, lines } = await startTestHub([]);
    const send = await serveActions(hub);
    expect(await send(`/${action}`, body)).toMatchObject({ status, body: { error: { code } } });
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('are POST below the mount, and nothing else is served', async () => {
    const { hub } = await startTestHub([]);
    const send = await serveActions(hub, { basePath: '/ops/act' });
    expect(await send('/ops/act')).toMatchObject({ status: 200 });
    expect(await send('/ops/act/')).toMatchObject({ status: 200 });
    expect(await send('/ops/act/audit', {})).toMatchObject({ status: 200 });
    expect(await send('/ops/act/audit')).toMatchObject({ status: 405, headers: { allow: 'POST' } });
    expect(await send('/ops/act', {})).toMatchObject({ status: 405, headers: { allow: 'GET' } });
    for (const path of ['/ops/act/constructor', '/ops/act/audit/', '/ops/actaudit', '/audit']) {
      expect(await send(path, {})).toMatchObject({ status: 404 });
    }
  });
});

describe('repeated requests', () => {
  it('with the id of the client are carried out once, and get the same answer', async () => {
    const test = await startTestHub([]);
    const [id = ''] = await failSome(test, 1);
    const [one, two] = [await serveActions(test.hub), await serveActions(test.hub)];
    const body = { id, actionId: 'a-1' };
    const first = await one('/replay', body);
    await test.clock.settle();
    // It failed again, so that a second replay would be one too.
    expect(await test.hub.metrics('order.refused')).toMatchObject({ deadLetters: 1, received: 2 });
    expect(await two('/replay', body)).toMatchObject({ status: 200, body: first.body });
    expect(await test.hub.metrics('order.refused')).toMatchObject({ received: 2 });
    expect(await test.hub.audit()).toHaveLength(1);
    expect(await one('/replay', { id: 'other', actionId: 'a-1' })).toMatchObject({
      status: 409,
      body: { error: { code: 'ERR_ACTION_ID_REUSED' } },
    });
    const bob = await serveActions(test.hub, { authorize: () => ({ user: 'bob', can: rights }) });
    expect(await bob('/replay', body)).toMatchObject({ status: 200 });
    expect(await test.hub.audit()).toHaveLength(2);
  });

  it('may be sent again at once if the action failed', async () => {
    const { hub } = await startTestHub([]);
    const send = await serveActions(hub);
    for (let i = 0; i < 2; i += 1) {
      expect(await send('/replay', { id: 'e-1', actionId: 'a-1' })).toMatchObject({ status: 404 });
    }
  });

  it('are refused while the first one is carried out', async () => {
    const test = await startTestHub([]);
    const [id = ''] = await failSome(test, 1);
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const transport = {
      retire: async () => {
        await held;
        return { events: 0, deadLetters: 0 };
      },
    };
    const send = await serveActions(test.hub, { transport });
    const body = { service: id, actionId: 'a-1' };
    const first = send('/retire', body);
    await vi.waitFor(async () => expect(await test.hub.audit()).toHaveLength(1));
    expect(await send('/retire', body)).toMatchObject({ status: 409, body: { error: { code: 'ERR_ACTION_RUNNING' } } });
    release();
    expect(await first).toMatchObject({ status: 200 });
  });
});

describe('bulk actions', () => {
  it('are previewed, then carried out on lists of ids, with one entry per request', async () => {
    const test = await startTestHub([]);
    await failSome(test, 130);
    await test.clock.advance(5);
    const send = await serveActions(test.hub);
    const preview = await send('/replay', { filter: { type: 'order.refused' }, preview: true });
    expect(preview).toMatchObject({ status: 200, body: { count: 130, isMore: false } });
    expect(await test.hub.metrics('order.refused')).toMatchObject({ deadLetters: 130, received: 130 });
    expect(await test.hub.audit()).toEqual([]);
    const ids = preview.body['ids'] as string[];
    const first = await send('/replay', { ids: [...ids.slice(0, 99), 'gone'] });
    expect(first.body).toMatchObject({ done: 99, failed: [{ id: 'gone', code: 'ERR_UNKNOWN_DEAD_LETTER' }] });
    expect(await send('/replay', { ids: ids.slice(99) })).toMatchObject({ body: { done: 31, failed: [] } });
    expect(await test.hub.audit()).toMatchObject([
      { target: { count: 31 }, outcome: { done: 31, failed: 0 } },
      { target: { count: 100 }, outcome: { done: 99, failed: 1 } },
    ]);
  });

  it('carry the others out if one meets a defect, and record how many', async () => {
    const test = await startTestHub([]);
    const ids = await failSome(test, 30);
    const { deadLetters } = test.hub.transport;
    const replay = deadLetters.replay.bind(deadLetters);
    deadLetters.replay = async (id, service) => {
      if (id === ids[3]) throw new TypeError('defect');
      return replay(id, service);
    };
    const send = await serveActions(test.hub);
    expect(await send('/replay', { ids })).toMatchObject({ status: 500, body: { error: { code: 'ERR_INTERNAL' } } });
    expect(await test.hub.audit()).toMatchObject([{ target: { count: 30 }, outcome: { done: 29, failed: 1 } }]);
    await test.clock.settle();
    expect(await test.hub.metrics('order.refused')).toMatchObject({ received: 59 });
  });

  it('by a filter end, although the events fail again', async () => {
    const test = await startTestHub([]);
    await failSome(test, 130);
    const send = await serveActions(test.hub);
    await test.clock.advance(5);
    const first = await send('/replay', { filter: { type: 'order.refused' } });
    expect(first.body).toMatchObject({ done: 100, failed: [], remaining: 30 });
    await test.clock.advance(5);
    const filter = { type: 'order.refused', until: first.body['until'] };
    expect((await send('/replay', { filter })).body).toMatchObject({ done: 30, failed: [], remaining: 0 });
    await test.clock.advance(5);
    expect((await send('/replay', { filter })).body).toMatchObject({ done: 0, remaining: 0 });
    expect(await test.hub.metrics('order.refused')).toMatchObject({ received: 260, deadLetters: 130 });
    expect(await test.hub.audit()).toMatchObject([
      { target: { count: 30, type: 'order.refused' } },
      { target: { count: 100, type: 'order.refused' } },
    ]);
  });

  it('replay the dead letters of one error group, and no others', async () => {
    const test = await startTestHub([]);
    await failSome(test, 3);
    const { hub } = test;
    const [group] = await hub.errorGroups('order.refused');
    await test.clock.advance(5);
    const send = await serveActions(hub);
    const filter = { errorGroup: group?.id };
    expect(await send('/replay', { filter, preview: true })).toMatchObject({ body: { count: 3 } });
    expect(await send('/replay', { filter: { ...filter, type: 'order.created' }, preview: true })).toMatchObject({
      body: { count: 0 },
    });
    expect(await send('/replay', { filter })).toMatchObject({ body: { done: 3, remaining: 0 } });
    expect(await hub.audit()).toMatchObject([{ target: { count: 3, errorGroup: group?.id } }]);
    const unknown = { filter: { errorGroup: 'none' }, preview: true };
    expect(await send('/replay', unknown)).toMatchObject({
      status: 400,
      body: { error: { code: 'ERR_INVALID_ACTION' } },
    });
    expect(await send('/cancel', { filter })).toMatchObject({ status: 400 });
  });

  it('cancel the pending events of a request', async () => {
    const { hub } = await startTestHub([]);
    for (let i = 0; i < 3; i += 1) await hub.emit('order.created', i, { requestId: 'r-1', delayMs: 60_000 });
    await hub.emit('order.created', 9, { requestId: 'r-2', delayMs: 60_000 });
    const send = await serveActions(hub);
    const filter = { requestId: 'r-1' };
    expect(await send('/cancel', { filter, preview: true })).toMatchObject({ body: { count: 3 } });
    expect(await send('/cancel', { filter })).toMatchObject({ body: { done: 3, remaining: 0 } });
    expect(await hub.metrics('order.created')).toMatchObject({ pending: 1 });
  });
});

describe('contents', () => {
  it('are shown by permission, as formatPayload returns them, and the audit names who looked', async () => {
    const test = await startTestHub([]);
    const { hub, clock, lines } = test;
    const { id } = await hub.emit('order.refused', { card: '4242', total: 7 });
    await clock.settle();
    const plain = await serveActions(hub);
    const shown = await plain('/payload', { id });
    expect(shown.headers['cache-control']).toBe('no-store');
    expect(shown.body).toEqual({
      events: [
        {
          id,
          service: 'shop',
          type: 'order.refused',
          kind: 'event',
          contents: [{ kind: 'payload', json: JSON.stringify({ card: '4242', total: 7 }, null, 2) }],
        },
      ],
    });
    const seen: unknown[] = [];
    const masked = await serveActions(hub, {
      formatPayload: (type, content, part) => {
        seen.push([type, part]);
        return { ...Object(content), card: '…' };
      },
    });
    expect(JSON.stringify((await masked('/payload', { id })).body)).not.toContain('4242');
    expect(seen).toEqual([['order.refused', { kind: 'payload' }]]);
    const broken = await serveActions(hub, {
      formatPayload: () => {
        throw new Error('4242');
      },
    });
    expect((await broken('/payload', { id })).body).toMatchObject({
      events: [{ contents: [{ kind: 'payload', isWithheld: true }] }],
    });
    expect(await hub.audit()).toMatchObject([
      { action: 'payload', by: 'ada', target: { id } },
      { action: 'payload' },
      { action: 'payload' },
    ]);
    expect(JSON.stringify(lines.map(({ message, fields }) => [message, Object.keys(fields)]))).not.toContain('4242');
  });
});

it('takes the JSON that a framework has parsed', async () => {
  const test = await startTestHub([]);
  const app = express();
  app.use(express.json());
  app.use('/ops/act', createActionsHandler(test.hub, { authorize: () => ada }));
  const { port } = await serve(app);
  const origin = `http://127.0.0.1:${port}`;
  const response = await fetch(`${origin}/ops/act/audit`, { method: 'POST', headers: { ...json, origin }, body: '{}' });
  expect([response.status, await response.json()]).toMatchObject([200, { entries: [] }]);
});

it('serves requests of the Fetch API', async () => {
  const test = await startTestHub([]);
  const [id = ''] = await failSome(test, 1);
  const handle = createActionsFetch(test.hub, { basePath: '/ops/act', authorize: () => ada });
  const rightsOf = await handle(new Request('https://ops.example.com/ops/act'));
  expect(await rightsOf.json()).toMatchObject({ user: 'ada' });
  const post = (headers: Record<string, string>): Promise<Response> =>
    handle(
      new Request('https://ops.example.com/ops/act/replay', {
        method: 'POST',
        headers: { ...json, ...headers },
        body: JSON.stringify({ id }),
      }),
    );
  expect((await post({ origin: 'https://evil.example' })).status).toBe(403);
  expect(await (await post({ origin: 'https://ops.example.com' })).json()).toMatchObject({ done: 1 });
});

it('is named in the bodies of a dashboard that has it, and without it nothing changes', async () => {
  const { hub } = await startTestHub([]);
  const bodiesOf = async (options: object): Promise<string[]> => {
    const { get } = await serve(createDashboardHandler(hub, options));
    const paths = ['/', '/api/introspection', '/api/introspection?events=columns'];
    return Promise.all(paths.map(async (path) => (await get(path)).body.toString()));
  };
  const [page, ...without] = await bodiesOf({});
  const [samePage, ...bodies] = await bodiesOf({ actions: 'ops/act/' });
  expect(samePage).toBe(page);
  expect(bodies).toEqual(without.map((body) => body.replace(/\}$/, ',"actions":"/ops/act"}')).map(expectSame));
});

/** The order of the fields is that of the body. */
function expectSame(body: string): unknown {
  return expect.toSatisfy((actual: string) => JSON.stringify(sorted(actual)) === JSON.stringify(sorted(body)));
}

function sorted(body: string): unknown {
  return Object.entries(JSON.parse(body)).sort();
}

it.each([
  ['authorize', {}],
  ['authorize', { authorize: true }],
  ['allowedOrigins', { authorize: () => ada, allowedOrigins: ['https://ops.example.com/'] }],
  ['allowedOrigins', { authorize: () => ada, allowedOrigins: [] }],
  ['transport', { authorize: () => ada, transport: {} }],
  ['option of', { authorize: () => ada, auth: () => ada }],
])('refuses a wrong %s', async (name, options) => {
  const { hub } = await startTestHub([]);
  expect(() => Reflect.apply(createActionsHandler, undefined, [hub, options])).toThrow(name);
});
