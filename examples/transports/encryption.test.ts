import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHub, createWorkflow, type Hub, memoryTransport, type Transport } from 'hubline';
import { redisTransport } from 'hubline/redis';
import { sqliteTransport } from 'hubline/sqlite';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { type RedisServer, startRedisServer } from '../../scripts/redis-server.js';
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

/** Store that outlives its processes. */
interface Store {
  connect(...keys: [string, Buffer][]): Transport;
  /** Returns all that it stores, as text. */
  read(): Promise<string>;
}

const codecOf = (keys: [string, Buffer][]) => createCipherCodec(new Map(keys));

const stores: Readonly<Record<string, () => Store>> = {
  redis() {
    const prefix = randomUUID();
    return {
      connect: (...keys) => redisTransport({ url: server.url, prefix, codec: codecOf(keys), emitTimeoutMs: 60_000 }),
      read: () => stored(prefix),
    };
  },
  sqlite() {
    const folder = mkdtempSync(join(tmpdir(), 'hubline-example-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    return {
      connect: (...keys) => sqliteTransport({ file: join(folder, 'hub.db'), codec: codecOf(keys) }),
      async read() {
        const files = readdirSync(folder);
        expect(files).toContain('hub.db');
        return files.map((name) => readFileSync(join(folder, name), 'latin1')).join();
      },
    };
  },
};

/** Uses everything that stores, and returns the id of a dead letter. */
async function useEverything(transport: Transport): Promise<{ hub: Hub; id: string }> {
  seen.length = 0;
  const fails = { now: false };
  const hub = await use(transport, fails);
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
  return { hub, id };
}

test('everything works with encryption in memory, with the first key in the list', async () => {
  const used = createCipherCodec(new Map([newKey, oldKey]));
  const encode = vi.fn(used.encode);
  await useEverything(memoryTransport({ codec: { ...used, encode } }));
  expect(encode.mock.calls.join()).toContain('secret-4242');
  for (const { value } of encode.mock.results) expect(value).toMatch(/^2026\./);
});

test.each(Object.entries(stores))('everything is encrypted on %s, and readable after a rotation', async (_, open) => {
  const store = open();
  const { hub, id } = await useEverything(store.connect(oldKey));
  await hub.stop();
  expect(await store.read()).not.toContain('secret-4242');

  const rotated = await use(store.connect(newKey, oldKey), { now: false });
  expect(await rotated.transport.kv.range('conversation', 0, -1)).toEqual(['secret-4242']);
  await rotated.replay(id);
  await vi.waitFor(() => expect(seen).toHaveLength(2), 20_000);
  await rotated.transport.kv.append('conversation', ['secret-4242']);
  await rotated.stop();
  const content = await store.read();
  expect(content).not.toContain('secret-4242');
  // New data has the new key.
  expect(content).toContain('2026.');
});

test.each(Object.entries(stores))(
  'an event whose key is missing on %s fails once with a typed error, and can be replayed with the key',
  async (_, open) => {
    seen.length = 0;
    const store = open();
    await (await use(store.connect(oldKey), { now: false })).stop();
    const web = createHub({ service: 'web', transport: store.connect(newKey, oldKey) });
    web.event({ type: 'paid', subscribers: ['shop'] });
    await web.start();
    // It waits until the service starts.
    const { id } = await web.emit('paid', payload);
    await web.stop();
    // The first start encoded the secret of the store with the key that it has.
    const blind = await use(store.connect(oldKey), { now: false });
    await vi.waitFor(
      async () => expect(await blind.failures('paid')).toMatchObject([{ id, name: 'CodecError' }]),
      20_000,
    );
    expect(await blind.deadLetters('paid')).toMatchObject([{ id, payload: undefined }]);
    await blind.stop();
    const seeing = await use(store.connect(newKey, oldKey), { now: false });
    await seeing.replay(id);
    await vi.waitFor(() => expect(seen).toEqual([payload]), 20_000);
  },
);

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
