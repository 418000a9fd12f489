import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { expect, it, onTestFinished, vi } from 'vitest';
import { listenLocally } from '../../scripts/listen-locally.js';
import { patienceMs } from '../../scripts/test-projects.js';
import { createHub } from '../hub/create-hub.js';
import type { Alert } from '../hub/operate/alerts.js';
import { redisUrl } from '../testing/stores.fixture.js';
import { redisTransport } from '../transports/redis/redis-transport.js';
import type { CommandResult } from './command-line.fixture.js';
import { runInProcess } from './in-process.fixture.js';

it('plays an incident from the alert to the replay in the command line alone, with its audit', async () => {
  const alerts: Alert[] = [];
  const webhook = createServer(async (req, res) => {
    let text = '';
    for await (const chunk of req) text += chunk;
    alerts.push(JSON.parse(text));
    res.end();
  });
  const url = `http://127.0.0.1:${await listenLocally(webhook)}/`;
  onTestFinished(() => void webhook.close());
  const [redis, prefix] = [redisUrl(), randomUUID()];
  let isBankDown = true;
  const charged: number[] = [];
  const hub = createHub({ service: 'shop', logger: false, transport: redisTransport({ url: redis, prefix }) });
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  hub.event<number>({
    type: 'payment.requested',
    handler({ payload }) {
      if (isBankDown) throw new Error(`bank is down for ${payload}`);
      charged.push(payload);
    },
  });
  hub.alert({
    afterMs: 1,
    when: ({ kind }) => kind === 'failing',
    send: async (alert, { signal }) => {
      await fetch(url, { method: 'POST', body: JSON.stringify(alert), signal });
    },
  });
  await hub.start();
  const hubline = (...args: readonly string[]): Promise<CommandResult> =>
    runInProcess([...args, '--redis', redis, '--prefix', prefix, '--timeout', '60']);
  for (let n = 1; n <= 5; n += 1) await hub.emit('payment.requested', n);
  await vi.waitFor(
    () => expect(alerts).toMatchObject([{ status: 'firing', problem: { kind: 'failing' } }]),
    patienceMs,
  );

  const type = alerts[0]?.problem.eventType ?? '';
  expect(await hubline('status')).toMatchObject({ code: 4, stdout: expect.stringContaining(type) });
  const groups = await vi.waitFor(async () => {
    const found = JSON.parse((await hubline('errors', type, '--json')).stdout);
    expect(found).toMatchObject([{ name: 'Error', message: 'bank is down for #', failures: 5, deadLetters: 5 }]);
    return found;
  }, patienceMs);
  expect((await hubline('pause', '--type', type, '--reason', 'bank is down')).code).toBe(0);
  // All processes follow within a second.
  const held = await hub.emit('payment.requested', 6, { delayMs: 1_500 });
  expect((await hubline('why', held.id)).stdout).toMatch(/delay until .*\n {2}paused by .*: bank is down/);
  await vi.waitFor(
    async () =>
      expect((await hubline('why', type)).stdout).toMatch(
        /^payment\.requested: 1 wait for a slot\n {2}in .* per minute.*\n {2}shop: paused by .*: bank is down/,
      ),
    patienceMs,
  );
  expect((await hubline('why', held.id)).stdout).toMatch(/waiting in shop\n {2}paused by .*: bank is down/);

  isBankDown = false;
  expect((await hubline('resume', '--type', type, '--reason', 'bank is back')).code).toBe(0);
  const replay = ['replay', '--error', groups[0].id, '--yes', '--by', 'ada', '--reason', 'bank is back'];
  expect(await hubline(...replay)).toMatchObject({ code: 0, stdout: 'Replayed 5 of 5.\n' });
  await vi.waitFor(() => expect(charged.toSorted()).toEqual([1, 2, 3, 4, 5, 6]), patienceMs);
  await vi.waitFor(() => expect(alerts.at(-1)?.status).toBe('resolved'), patienceMs);
  expect(new Set(alerts.map(({ incident }) => incident)).size).toBe(1);
  expect((await hubline('status')).code).toBe(0);
  const audit = JSON.parse((await hubline('audit', '--json')).stdout);
  expect(audit).toMatchObject([
    {
      ...{ action: 'replay', by: 'ada', via: 'cli', reason: 'bank is back' },
      ...{ target: { count: 5, errorGroup: groups[0].id }, outcome: { done: 5, failed: 0 } },
    },
    { action: 'resume', via: 'cli', reason: 'bank is back', target: { type } },
    { action: 'pause', via: 'cli', reason: 'bank is down', target: { type } },
  ]);
});
