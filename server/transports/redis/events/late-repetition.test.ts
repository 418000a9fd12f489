import { connect, createServer, type Socket } from 'node:net';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { listenLocally } from '../../../../scripts/listen-locally.js';
import { envelope } from '../../contract/envelope.js';
import { silentLogger } from '../../transport.js';
import { redisStage } from '../redis-stage.fixture.js';
import { redisTransport } from '../redis-transport.js';

const emitTimeoutMs = 60_000;
const { server, admin, prefix, consume, counts } = await redisStage();
afterEach(() => {
  vi.useRealTimers();
});

/** Proxy in front of Redis that passes the first reply to `onReply` in place of the client, once that is set. */
async function lossyProxy(): Promise<{ port: number; onReply: ((client: Socket) => Promise<void>) | undefined }> {
  const sockets = new Set<Socket>();
  const redis = createServer((client) => {
    const upstream = connect(server.port, '127.0.0.1');
    client.pipe(upstream);
    upstream.on('data', (reply) => {
      const { onReply } = proxy;
      proxy.onReply = undefined;
      if (onReply === undefined) client.write(reply);
      else void onReply(client);
    });
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    redis.close();
  });
  const proxy: Awaited<ReturnType<typeof lossyProxy>> = { port: await listenLocally(redis), onReply: undefined };
  return proxy;
}

/** Connects a process through a proxy, and lets it publish once. */
async function connectThroughProxy() {
  const shop = await consume(['a'], { concurrency: 1 });
  const proxy = await lossyProxy();
  const url = `redis://127.0.0.1:${proxy.port}`;
  const web = redisTransport({ url, prefix: prefix(), emitTimeoutMs }).connect({
    service: 'shop',
    logger: silentLogger,
  });
  onTestFinished(async () => void (await web.close({ drainMs: 0 })));
  await web.publish([envelope('a')]);
  return { shop, web, proxy };
}

it('an event whose reply was lost is not accepted twice by a process that was paused meanwhile', async () => {
  const { shop, web, proxy } = await connectThroughProxy();
  vi.useFakeTimers({ toFake: ['performance'] });
  proxy.onReply = async (client) => {
    // Redis forgets the reply while the process is paused, and the connection is lost.
    vi.advanceTimersByTime(3 * emitTimeoutMs);
    await admin.del(...(await admin.keys(`{${prefix()}}:executed:*`)));
    client.destroy();
  };
  await expect(web.publish([envelope('a')])).rejects.toMatchObject({ code: 'ERR_TRANSPORT_UNAVAILABLE' });
  expect(await counts(shop.transport, 'a')).toMatchObject({ received: 2, pending: 2 });
});

it('an event whose reply was lost is accepted once, and its emit resolves', async () => {
  const { shop, web, proxy } = await connectThroughProxy();
  proxy.onReply = async (client) => void client.destroy();
  expect(await web.publish([envelope('a')])).toMatchObject([{ deduplicated: false }]);
  expect(await counts(shop.transport, 'a')).toMatchObject({ received: 2, pending: 2 });
});
