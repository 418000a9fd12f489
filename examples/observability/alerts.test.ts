import { createServer } from 'node:http';
import { memoryTransport } from 'hubline';
import { createFakeClock } from 'hubline/testing';
import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../testing/eventually.js';
import { startHub } from '../testing/start-hub.js';
import { alertByMail, alertPagerDuty, alertSlack, createTrackedHub } from './alerts.js';

interface Received {
  readonly body: Record<string, unknown>;
  readonly token: string | undefined;
}

/** Server that refuses the first request of each test. */
async function receiveAlerts(): Promise<{ url: string; received: Received[]; tries: () => number }> {
  const received: Received[] = [];
  let tries = 0;
  const server = createServer(async (req, res) => {
    let text = '';
    for await (const chunk of req) text += chunk;
    tries += 1;
    if (tries === 1) {
      res.writeHead(503).end();
      return;
    }
    received.push({ body: JSON.parse(text), token: req.headers['x-postmark-server-token']?.toString() });
    res.writeHead(202).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { url: `http://127.0.0.1:${port}/`, received, tries: () => tries };
}

test.each([
  ['Slack', alertSlack],
  ['PagerDuty', (hub: Parameters<typeof alertSlack>[0], url: string) => alertPagerDuty(hub, 'routing-key', url)],
  ['mail', (hub: Parameters<typeof alertSlack>[0], url: string) => alertByMail(hub, 'token', 'ops@example.com', url)],
])('%s receives a failing type and its end, although the first request fails', async (name, alert) => {
  const { url, received, tries } = await receiveAlerts();
  const clock = createFakeClock();
  const hub = createTrackedHub(
    { captureException: () => {} },
    { transport: memoryTransport({ clock }), logger: false },
  );
  hub.event({ type: 'payment.requested', handler: () => Promise.reject(new Error('card declined')) });
  alert(hub, url);
  await startHub(hub);
  const { id } = await hub.emit('payment.requested', { card: '4242' });
  for (let n = 0; n < 310; n += 1) await clock.advance(1_000);
  const reached = async (count: number) =>
    eventually(async () => {
      await clock.advance(1_000);
      expect(received.length).toBeGreaterThanOrEqual(count);
    });
  await reached(1);
  await hub.erase({ requestId: id });
  for (let n = 0; n < 310; n += 1) await clock.advance(1_000);
  await reached(2);
  expect(tries()).toBeGreaterThan(received.length);
  const all = JSON.stringify(received);
  expect(all).toContain('failing payment.requested');
  expect(all).not.toContain('4242');
  const bodies = received.map(({ body }) => body);
  if (name === 'PagerDuty') {
    const failing = bodies.filter(({ payload }) => JSON.stringify(payload).includes('failing payment'));
    expect(failing.map(({ event_action }) => event_action)).toEqual(['trigger', 'resolve']);
    expect(new Set(failing.map(({ dedup_key }) => dedup_key)).size).toBe(1);
  }
  if (name === 'mail') expect(received.map(({ token }) => token)).toEqual(received.map(() => 'token'));
});

test('an error tracker receives the thrown error, and what failed', async () => {
  const captured: unknown[] = [];
  const hub = createTrackedHub({ captureException: (...args) => captured.push(args) }, { logger: false });
  const declined = new Error('card declined');
  hub.event({ type: 'payment.requested', handler: () => Promise.reject(declined) });
  await startHub(hub);
  const { id } = await hub.emit('payment.requested', null, { requestId: 'checkout-17' });
  await eventually(async () => expect(captured).toHaveLength(1));
  const event = { kind: 'event', type: 'payment.requested', id, service: 'hub', requestId: 'checkout-17', attempt: 1 };
  expect(captured).toEqual([[declined, { contexts: { event } }]]);
});
