import { Redis, type RedisOptions } from 'ioredis';
import { expect, it } from 'vitest';
import { startRedisServer } from '../../../scripts/redis-server.js';
import { BackpressureError } from '../errors.js';
import { silentLogger } from '../transport.js';
import { CommandClient } from './connection/command-client.js';
import { LeaseRecorder } from './consuming/lease-recorder.js';
import { isTransient } from './redis-errors.js';
import { resolveRedisOptions } from './redis-options.js';
import { startTestRedis } from './test-redis.fixture.js';

const { server } = await startTestRedis();

it.each([
  new RangeError('Maximum call stack size exceeded'),
  new TypeError('Cannot convert a Symbol value to a string'),
  new SyntaxError('Unexpected token'),
  new Error('anything else'),
  new BackpressureError('memory of Redis', 'its maxmemory'),
  'a string',
  undefined,
])('%o is not transient: it would return', (error) => {
  expect(isTransient(error)).toBe(false);
});

/** Returns a client that does not print its errors. */
function clientOf(options: RedisOptions): Redis {
  const address = { host: '127.0.0.1', port: server.port };
  const client = new Redis({ ...address, ...options, lazyConnect: true, replyMapping: 'legacy' });
  client.on('error', () => {});
  return client;
}

it.each<[string, () => Promise<unknown>]>([
  [
    'a closed connection',
    async () => {
      const client = clientOf({});
      await client.connect();
      client.disconnect();
      return client.get('k');
    },
  ],
  ['no connection yet', () => clientOf({ enableOfflineQueue: false }).get('k')],
  [
    'a server that refuses connections',
    () => {
      const client = clientOf({ port: 1, maxRetriesPerRequest: 0, retryStrategy: () => 0 });
      return client.get('k').finally(() => client.disconnect());
    },
  ],
  [
    'a server that dies before its reply',
    async () => {
      const dying = await startRedisServer();
      const client = new Redis(dying.url, { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false });
      client.on('error', () => {});
      await client.ping();
      const reply = client.blpop('k', 0).finally(() => client.disconnect());
      await Promise.all([expect(reply).rejects.toThrow(), dying.stop('SIGKILL')]);
      await dying.release();
      return reply;
    },
  ],
])('the error of ioredis for %s is transient', async (_, command) => {
  const error = await command().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(Error);
  expect(isTransient(error)).toBe(true);
});

it('a write of a lease is not repeated after an error of this process', async () => {
  const settings = resolveRedisOptions({ url: server.url });
  const commands = new CommandClient(settings, silentLogger);
  const connection = clientOf({});
  await connection.connect();
  const recorder = new LeaseRecorder(commands, 'shop', settings);
  recorder.use(connection);
  let calls = 0;
  const lease = (): never => {
    calls += 1;
    throw new RangeError('made here');
  };
  await expect(recorder.wait(lease, [{ key: 'sleep', delayMs: 1 }])).rejects.toThrow('made here');
  expect(calls).toBe(1);
  await commands.close();
  connection.disconnect();
});
