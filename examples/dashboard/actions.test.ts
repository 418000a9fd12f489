import type { Server } from 'node:http';
import { createHub, type Hub } from 'hubline';
import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../testing/eventually.js';
import { startHub } from '../testing/start-hub.js';
import { serveOperations } from './actions.js';

async function originOf(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
}

const sessions = {
  sessionOf: ({ headers }: { headers: { cookie?: string | undefined } }) =>
    headers.cookie === undefined
      ? undefined
      : { email: `${headers.cookie}@example.com`, isOnCall: headers.cookie === 'ada' },
};

async function createShop(): Promise<Hub> {
  const hub = createHub({ service: 'shop', logger: false });
  hub.event({ type: 'payment.requested', handler: () => Promise.reject(new Error('card declined')) });
  return startHub(hub);
}

test('who is on call may act, others only look, and card numbers are masked', async () => {
  const hub = await createShop();
  const origin = await originOf(serveOperations(hub, sessions));
  const { id } = await hub.emit('payment.requested', { card: '4242424242424242' });
  await eventually(async () => expect(await hub.metrics('payment.requested')).toMatchObject({ deadLetters: 1 }));
  const send = async (cookie: string, action: string, body: object): Promise<[number, string]> => {
    const headers = { cookie, origin, 'content-type': 'application/json' };
    const response = await fetch(`${origin}/ops/hub-actions/${action}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    return [response.status, await response.text()];
  };
  const rights = async (cookie: string): Promise<unknown> =>
    (await fetch(`${origin}/ops/hub-actions/`, { headers: { cookie } })).json();
  expect(await rights('bob')).toEqual({ user: 'bob@example.com', can: [] });
  expect(await send('bob', 'replay', { id })).toMatchObject([403, expect.stringContaining('ERR_FORBIDDEN')]);
  const [status, contents] = await send('ada', 'payload', { id });
  expect([status, contents.includes('4242'), contents.includes('card')]).toEqual([200, false, true]);
  expect(await send('ada', 'replay', { id, reason: 'bank is back' })).toMatchObject([200, '{"done":1,"failed":[]}']);
  expect(await hub.audit()).toMatchObject([
    { action: 'replay', by: 'ada@example.com', via: 'page', reason: 'bank is back' },
    { action: 'payload', by: 'ada@example.com' },
  ]);
  expect((await fetch(`${origin}/ops/hub`)).status).toBe(401);
  const body = await (await fetch(`${origin}/ops/hub/api/introspection`, { headers: { cookie: 'bob' } })).json();
  expect(body).toMatchObject({ actions: '/ops/hub-actions' });
});
