import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { listenLocally } from '../../../../scripts/listen-locally.js';
import { Deadline } from './command-client.js';

function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

it('rejects what has not settled in time', async () => {
  const deadline = new Deadline(10);
  await expect(deadline.race(new Promise(() => {}))).rejects.toThrow('no reply in time');
  expect(deadline.isOver).toBe(true);
  await expect(deadline.race(new Promise(() => {}))).rejects.toThrow('no reply in time');
});

it('ends the subscription of what it rejects', async () => {
  const deadline = new Deadline(10);
  let isSubscribed = true;
  const waiting = deadline.wait(() => () => {
    isSubscribed = false;
  });
  await expect(waiting).rejects.toThrow();
  expect(isSubscribed).toBe(false);
});

it('does not count time during which the event loop was blocked', async () => {
  // The event loop is late, or is blocked until the time is over.
  for (const [limitMs, blockedMs, replyMs] of [
    [40, 200, 60],
    [200, 190, 260],
  ] as const) {
    const deadline = new Deadline(limitMs);
    const reply = delay(replyMs, 'reply');
    block(blockedMs);
    expect(await deadline.race(reply)).toBe('reply');
    deadline.cancel();
  }
});

it('reads a reply that arrived in time before it ends, if the event loop was late for a moment', async () => {
  const server = createServer();
  const client = connect(await listenLocally(server), '127.0.0.1');
  const [replier] = (await once(server, 'connection')) as [Socket];
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  // A machine with more to do is late for longer now and then, which another rule covers.
  for (let round = 0; round < 20; round += 1) {
    const deadline = new Deadline(10);
    const reply = deadline.race(once(client, 'data'));
    replier.write('reply');
    block(12);
    expect(String(await reply)).toBe('reply');
    deadline.cancel();
  }
});
