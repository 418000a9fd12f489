import { randomUUID } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished, vi } from 'vitest';
import { freePort } from '../../../../scripts/listen-locally.js';
import { type RedisServer, startRedisServer } from '../../../../scripts/redis-server.js';
import { createHub } from '../../../hub/create-hub.js';
import { TransportUnavailableError } from '../../errors.js';
import { silentLogger } from '../../transport.js';
import { resolveRedisOptions } from '../redis-options.js';
import { redisTransport } from '../redis-transport.js';
import { CommandClient } from './command-client.js';

async function startServer(settings: readonly string[] = []): Promise<RedisServer> {
  const server = await startRedisServer(settings);
  onTestFinished(() => server.release());
  return server;
}

function connect(url: string, emitTimeoutMs: number): CommandClient {
  const client = new CommandClient(resolveRedisOptions({ url, emitTimeoutMs, prefix: randomUUID() }), silentLogger);
  onTestFinished(() => client.close());
  return client;
}

function heapAfterCollection(): number {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect();
  return process.memoryUsage().heapUsed;
}

it('keeps nothing of the commands that it rejected while Redis is gone', async () => {
  const client = connect(`redis://127.0.0.1:${await freePort()}`, 10);
  const reject = async (times: number): Promise<void> => {
    for (let round = 0; round < times; round += 1) {
      const commands = Array.from({ length: 500 }, () => client.run((redis) => redis.ping()));
      for (const result of await Promise.allSettled(commands)) {
        expect(result).toMatchObject({ status: 'rejected', reason: expect.any(TransportUnavailableError) });
      }
    }
  };
  await reject(4);
  const before = heapAfterCollection();
  await reject(20);
  expect((heapAfterCollection() - before) / 10_000).toBeLessThan(100);
});

it('reads replies that arrived while the event loop was blocked longer than the time limit', async () => {
  const { url } = await startServer();
  const limitMs = 1_000;
  const client = connect(url, limitMs);
  // A busy machine may take longer for the first connection.
  await vi.waitFor(() => client.run((redis) => redis.ping()));
  const replies = Promise.all(Array.from({ length: 10 }, (_, n) => client.run((redis) => redis.set(`k${n}`, 'v'))));
  await Promise.resolve();
  const end = performance.now() + 1.5 * limitMs;
  while (performance.now() < end);
  expect(await replies).toEqual(Array.from({ length: 10 }, () => 'OK'));
});

it('passes on errors of Redis without the arguments of the command', async () => {
  const { url } = await startServer();
  const client = connect(url, 60_000);
  const secret = 'hunter2';
  const commands = [
    () => client.run((redis) => redis.call('AUTH', 'nobody', secret)),
    () => client.run((redis) => redis.call('NOSUCHCOMMAND', secret)),
    () => client.run((redis) => redis.eval(`return redis.call('LPUSH', KEYS[1])`, 1, secret)),
    () => client.run((redis) => redis.hset('k', secret, secret).then(() => redis.get('k'))),
  ];
  for (const command of commands) {
    const error = await command().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: 'ERR_REDIS_COMMAND' });
    expect(deepText(error)).not.toContain(secret);
  }
});

it('says how to repeat an emit without a duplicate, and of another call that it may be repeated', async () => {
  const { url } = await startServer();
  const hub = createHub({
    transport: redisTransport({ url, emitTimeoutMs: 200, prefix: randomUUID() }),
    logger: false,
  });
  onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
  hub.event({ type: 'a' });
  await vi.waitFor(() => hub.start());
  const admin = connect(url, 60_000);
  await admin.run((redis) => redis.call('CLIENT', 'PAUSE', '600000', 'ALL'));
  const code = 'ERR_TRANSPORT_UNAVAILABLE';
  const emit = {
    code,
    message: expect.stringMatching(/; to repeat the emit without a duplicate, pass the same dedupeId$/),
  };
  const read = { code, message: expect.stringMatching(/; repeat the call when it is available again$/) };
  await expect(hub.emit('a', null)).rejects.toMatchObject(emit);
  await expect(hub.emitMany('a', [null])).rejects.toMatchObject(emit);
  await expect(hub.metrics('a')).rejects.toMatchObject(read);
  await expect(hub.replay('a')).rejects.toMatchObject(read);
});

it('never shows a wrong password', async () => {
  const server = await startServer();
  await connect(server.url, 60_000).run((redis) => redis.config('SET', 'requirepass', 'right'));
  const client = connect(`redis://:hunter2@127.0.0.1:${server.port}`, 2_000);
  const error = await client
    .run((redis) => redis.ping())
    .then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
  expect(error).toMatchObject({ code: 'ERR_TRANSPORT_UNAVAILABLE', message: expect.stringContaining('WRONGPASS') });
  expect(deepText(error)).not.toContain('hunter2');
});

/** Returns everything that a logger could write about an error. */
function deepText(value: unknown): string {
  if (!(value instanceof Error)) return JSON.stringify(value) ?? '';
  const fields = Object.getOwnPropertyNames(value).map((name) => deepText(Reflect.get(value, name)));
  return [value.stack, ...fields].join('\n');
}
