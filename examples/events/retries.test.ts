import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { memoryTransport } from 'hubline';
import { createFakeClock } from 'hubline/testing';
import { expect, onTestFinished, test, vi } from 'vitest';
import { listenLocally } from '../../scripts/listen-locally.js';
import { createWebhookHub, replayWebhooks } from './retries.js';

async function receiver(
  answer: (res: ServerResponse, call: number) => void,
): Promise<{ url: string; calls: IncomingMessage[] }> {
  const calls: IncomingMessage[] = [];
  const server = createServer((req, res) => {
    req.resume();
    answer(res, calls.push(req));
    res.end();
  });
  onTestFinished(() => void server.close());
  const port = await listenLocally(server);
  return { url: `http://127.0.0.1:${port}/`, calls };
}

async function startHub() {
  const clock = createFakeClock();
  const dead: unknown[] = [];
  const hub = createWebhookHub((webhook, error) => dead.push([webhook.body, error.message]), {
    transport: memoryTransport({ clock }),
  });
  onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
  await hub.start();
  return { hub, clock, dead };
}

test('a busy receiver gets the webhook again after its Retry-After, with the same idempotency key', async () => {
  const { url, calls } = await receiver((res, call) => {
    if (call === 1) res.setHeader('retry-after', '30');
    res.statusCode = call < 3 ? 503 : 200;
  });
  const { hub, clock, dead } = await startHub();
  await hub.emit('webhook.due', { url, body: 'paid' });
  const retried = (times: number) =>
    vi.waitFor(async () => expect(await hub.metrics('webhook.due')).toMatchObject({ retried: times }));

  await retried(1);
  await clock.advance(29_999);
  expect(calls).toHaveLength(1);
  await clock.advance(1);
  await retried(2);
  await clock.advance(400);
  await vi.waitFor(async () => expect(await hub.metrics('webhook.due')).toMatchObject({ completed: 1, retried: 2 }));
  expect(new Set(calls.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
  expect(dead).toEqual([]);
});

test('a fatal failure is not retried, and becomes a dead letter that can be replayed', async () => {
  const { url, calls } = await receiver((res, call) => {
    res.statusCode = call === 1 ? 410 : 200;
  });
  const { hub, clock, dead } = await startHub();
  await hub.emit('webhook.due', { url, body: 'paid' });
  await vi.waitFor(() => expect(dead).toEqual([['paid', 'the receiver is gone']]));
  await clock.advance(60_000);
  expect(calls).toHaveLength(1);
  expect(await hub.failures('webhook.due')).toMatchObject([{ name: 'FatalError', attempt: 1 }]);

  expect(await replayWebhooks(hub, new URL('http://elsewhere.example/'))).toBe(0);
  expect(await replayWebhooks(hub, new URL(url))).toBe(1);
  await vi.waitFor(async () => expect(await hub.metrics('webhook.due')).toMatchObject({ received: 2, completed: 1 }));
  expect(new Set(calls.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
  expect(await hub.deadLetters('webhook.due')).toEqual([]);
});
