import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished, vi } from 'vitest';
import { agentOf } from '../../agents/scripted-agent.fixture.js';
import { createTool } from '../../agents/tools/tool.js';
import { newStoreFile, redisUrl } from '../../testing/stores.fixture.js';
import { redisTransport } from '../../transports/redis/redis-transport.js';
import { openPatiently } from '../../transports/sqlite/open-patiently.fixture.js';
import { sqliteTransport } from '../../transports/sqlite/sqlite-transport.js';
import type { Transport } from '../../transports/transport.js';
import { createHub } from '../create-hub.js';
import { createWorkflow } from '../runs/workflow.js';

const secret = 'private-4711';
const requestId = 'request 7';
const other = 'kept-0815';

/** Returns all that a file stores, without the space that is not in use. */
async function storedIn(file: string): Promise<string> {
  const database = await openPatiently(file, { readOnly: true });
  const tables = database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all();
  const rows = tables.map(({ name }) => [name, database.prepare(`SELECT * FROM ${String(name)}`).all()]);
  database.close();
  return JSON.stringify(rows);
}

/** Returns all keys of Redis with their values. */
async function storedAt(url: string): Promise<string> {
  const client = new Redis(url);
  const read: Record<string, (key: string) => Promise<unknown>> = {
    string: (key) => client.get(key),
    hash: (key) => client.hgetall(key),
    list: (key) => client.lrange(key, 0, -1),
    set: (key) => client.smembers(key),
    zset: (key) => client.call('ZRANGE', key, '0', '-1'),
    stream: (key) => client.xrange(key, '-', '+'),
    // It expired meanwhile.
    none: async () => null,
  };
  const keys = await client.keys('*');
  const values = await Promise.all(keys.map(async (key) => [key, await read[await client.type(key)]?.(key)]));
  client.disconnect();
  expect(values.filter(([, value]) => value === undefined)).toEqual([]);
  return JSON.stringify(values);
}

const file = newStoreFile();
it.each<[string, () => Transport, () => Promise<string>]>([
  ['a file', () => sqliteTransport({ file }), () => storedIn(file)],
  [
    'Redis',
    () => redisTransport({ url: redisUrl(), prefix: randomUUID(), emitTimeoutMs: 60_000 }),
    () => storedAt(redisUrl()),
  ],
])('an erasure leaves nothing of a request in %s, and all of another one', async (_where, createTransport, stored) => {
  const transport = createTransport();
  const hubs = ['shop', 'mail'].map((service) => createHub({ service, transport }));
  onTestFinished(async () => {
    for (const hub of hubs) await hub.stop({ drainMs: 0 });
  });
  const [hub, mail] = hubs;
  if (hub === undefined || mail === undefined) throw new Error('no hub');
  const fail = (): never => {
    throw new Error('no');
  };
  mail.event({ type: 'failing', handler: fail });
  hub.event({ type: 'failing', handler: fail, retry: { maxAttempts: 2, initialDelayMs: 0 } });
  hub.event({ type: 'keyed', key: (payload) => JSON.stringify(payload).slice(0, 3), handler: fail });
  hub.event({ type: 'calm', key: () => 'k', debounceMs: 10, handler: fail });
  hub.event({ type: 'answered', key: (payload) => JSON.stringify(payload) });
  hub.event({ type: 'first', onSuccess: 'failing', handler: ({ payload }) => ({ payload }) });
  const child = createWorkflow({ name: 'child', run: ({ input, step }) => step.run('copy', () => ({ input })) });
  const parent = createWorkflow({
    name: 'parent',
    run: async ({ input, step }) => {
      const first = await step.run('first', () => ({ input }));
      await step.sleep('rest', 1);
      const last = await step.invoke('child', child, first);
      const answer = await step.waitForEvent('answer', 'answered', { key: JSON.stringify(input) });
      return { last, answer };
    },
  });
  const broken = createWorkflow({
    name: 'broken',
    run: async ({ input, step }) => {
      await step.run('first', () => ({ input }));
      await step.run('second', fail);
    },
  });
  hub.workflow(child);
  hub.workflow(parent);
  hub.workflow(broken);
  const call = { toolCalls: [{ name: 'look', arguments: { secret } }] };
  const { agent } = agentOf([call, secret], {
    tools: [createTool({ name: 'look', description: '', parameters: {}, execute: async () => ({ secret }) })],
  });
  hub.event({ type: 'asked', handler: agent.asHandler(), onSuccess: 'failing' });
  for (const each of hubs) await each.start();

  const send = async (id: string, value: string): Promise<void> => {
    const options = { requestId: id };
    for (const type of ['first', 'keyed', 'calm', ...(id === requestId ? ['asked'] : [])]) {
      await hub.emit(type, { value }, { ...options, ...(type === 'keyed' && { dedupeId: id }) });
    }
    await hub.startWorkflow(broken, { value }, options);
    const run = await hub.startWorkflow(parent, { value }, options);
    await vi.waitFor(async () =>
      expect((await hub.getRun(parent, run.runId)).steps.at(-1)).toMatchObject({ name: 'answer' }),
    );
    await hub.emit('answered', { value }, options);
    await run.result();
  };
  const others = await Promise.all([send(requestId, secret), send('request 8', other)]);
  expect(others).toHaveLength(2);
  await vi.waitFor(async () => {
    const { totals } = await hub.introspect();
    expect(totals.metrics).toMatchObject({ pending: 0 });
  });
  const before = await stored();
  const counts = await hub.introspect();
  expect(before.split(secret).length).toBeGreaterThan(10);
  const kept = before.split(other).length;
  const erased = await hub.erase({ requestId });
  expect(erased).toMatchObject({ pending: 0 });
  const after = await stored();
  expect(after).not.toContain(secret);
  expect(after.split(other).length).toBe(kept);
  const { deadLetters: _replayable, ...totals } = counts.totals.metrics;
  expect((await hub.introspect()).totals.metrics).toMatchObject(totals);
});
