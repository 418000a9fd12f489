import { randomBytes, randomUUID } from 'node:crypto';
import { createHub, createWorkflow, type Hub, memoryTransport, type Transport } from 'hubline';
import { redisTransport } from 'hubline/redis';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { type RedisServer, startRedisServer } from '../scripts/redis-server.js';
import { createCipherCodec } from './encryption.js';

const oldKey: [string, Buffer] = ['2025', randomBytes(32)];
const newKey: [string, Buffer] = ['2026', randomBytes(32)];

let server: RedisServer;
beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server.release());

test('decodes what it encodes, differently each time, with every key in the list', () => {
  const old = createCipherCodec(new Map([oldKey]));
  const rotating = createCipherCodec(new Map([newKey, oldKey]));
  const text = old.encode('{"a":"ä"}');
  expect(text).toMatch(/^2025\.[\w+/=]+$/);
  expect(old.encode('{"a":"ä"}')).not.toBe(text);
  expect(rotating.decode(text)).toBe('{"a":"ä"}');
  expect(rotating.encode('x')).toMatch(/^2026\./);
  expect(() => old.decode(rotating.encode('x'))).toThrow('there is no key "2026"');
  const changed = `${text.slice(0, -6)}AAAA${text.slice(-2)}`;
  expect(() => old.decode(changed)).toThrow();
});

async function use(transport: Transport, fails: { now: boolean }): Promise<Hub> {
  const hub = createHub({ service: 'shop', transport });
  hub.event<{ card: string }>({
    type: 'paid',
    onSuccess: 'thanked',
    handler: ({ payload }) => {
      if (fails.now) throw new Error('declined');
      return payload;
    },
  });
  hub.event({ type: 'thanked', handler: ({ payload }) => void seen.push(payload) });
  const steps = [
    { name: 'pick', handler: ({ payload }: { payload: unknown }) => payload },
    { name: 'pack', handler: ({ payload }: { payload: unknown }) => payload },
  ];
  hub.workflow(createWorkflow({ name: 'ship', steps }));
  await hub.start();
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  return hub;
}

const seen: unknown[] = [];
const payload = { card: 'secret-4242' };

test.each(['memory', 'redis'])('payloads, results, checkpoints and key-values are encrypted on %s', async (name) => {
  seen.length = 0;
  const prefix = randomUUID();
  const create = (...keys: [string, Buffer][]): Transport => {
    const codec = createCipherCodec(new Map(keys));
    return name === 'memory' ? memoryTransport({ codec }) : redisTransport({ url: server.url, prefix, codec });
  };
  const fails = { now: false };
  const hub = await use(create(oldKey), fails);
  await hub.emit('paid', payload);
  await vi.waitFor(() => expect(seen).toEqual([payload]), 20_000);
  const run = await hub.startWorkflow('ship', payload);
  expect(await run.result()).toEqual(payload);
  expect((await run.status()).steps).toMatchObject([{ status: 'completed' }, { status: 'completed' }]);
  await hub.transport.kv.append('conversation', ['secret-4242']);
  expect(await hub.transport.kv.range('conversation', 0, -1)).toEqual(['secret-4242']);
  fails.now = true;
  const { id } = await hub.emit('paid', payload);
  await vi.waitFor(async () => expect(await hub.deadLetters('paid')).toMatchObject([{ id, payload }]), 20_000);
  if (name === 'memory') return;

  // After a rotation, the stored dead letter is replayed with the old key.
  const rotated = await use(create(newKey, oldKey), { now: false });
  await hub.stop();
  await rotated.replay(id);
  await vi.waitFor(() => expect(seen).toHaveLength(2), 20_000);
  expect(await stored(prefix)).not.toContain('secret-4242');
});

test('an event whose key is missing fails once with a typed error, and can be replayed with the key', async () => {
  seen.length = 0;
  const prefix = randomUUID();
  const connect = (...keys: [string, Buffer][]): Transport =>
    redisTransport({ url: server.url, prefix, codec: createCipherCodec(new Map(keys)) });
  const first = await use(connect(newKey), { now: false });
  const { id } = await first.emit('paid', payload, { delayMs: 300 });
  await first.stop();
  const blind = await use(connect(oldKey), { now: false });
  await vi.waitFor(
    async () => expect(await blind.failures('paid')).toMatchObject([{ id, name: 'CodecError' }]),
    20_000,
  );
  expect(await blind.deadLetters('paid')).toMatchObject([{ id, payload: undefined }]);
  await blind.stop();
  const seeing = await use(connect(newKey, oldKey), { now: false });
  await seeing.replay(id);
  await vi.waitFor(() => expect(seen).toEqual([payload]), 20_000);
});

/** Returns all that Redis stores, as text. */
async function stored(prefix: string): Promise<string> {
  const admin = new Redis(server.url);
  const parts: unknown[] = [];
  for (const key of await admin.keys(`*${prefix}*`)) {
    const read = {
      string: () => admin.get(key),
      hash: () => admin.hgetall(key),
      list: () => admin.lrange(key, '0', '-1'),
      set: () => admin.smembers(key),
      zset: () => admin.zrange(key, '0', '-1'),
      stream: () => admin.xrange(key, '-', '+'),
    }[await admin.type(key)];
    parts.push(key, await read?.());
  }
  admin.disconnect();
  expect(parts.length).toBeGreaterThan(10);
  return JSON.stringify(parts);
}
