import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runs } from '../../../../scripts/property-tests.js';
import { envelope } from '../../contract/envelope.js';
import { minuteMs } from '../../limits.js';
import { silentLogger, type TransportManager } from '../../transport.js';
import { maxChanges, maxTypesPerChange } from '../connection/script-limits.js';
import { redisTransport } from '../redis-transport.js';
import { serverTime } from '../server-time.fixture.js';
import { startTestRedis } from '../test-redis.fixture.js';

const { server, admin } = await startTestRedis();

/** Connects two processes to empty data. */
async function connectTwo(): Promise<{ readonly prefix: string; readonly processes: readonly TransportManager[] }> {
  const prefix = randomUUID();
  const processes = ['s', 't'].map((service) =>
    redisTransport({ url: server.url, prefix, emitTimeoutMs: 60_000 }).connect({ service, logger: silentLogger }),
  );
  for (const each of processes) await each.start({ subscriptions: [], concurrency: 1, onDelivery: () => {} });
  return { prefix, processes };
}

const types = Array.from({ length: maxTypesPerChange + 2 }, (_, index) => `type ${index}`);

it('counts every event of every process, whenever the list of changes is added to the records', async () => {
  const call = fc.record({
    process: fc.constantFrom(0, 1),
    types: fc.uniqueArray(fc.constantFrom(...types), { minLength: 1, maxLength: types.length }),
    times: fc.integer({ min: 1, max: 12 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 8 }), async (calls) => {
      const { processes } = await connectTwo();
      const received = new Map<string, number>();
      const revisions = new Set([await processes[0]?.counts.revision()]);
      let published = 0;
      for (const { process, types: some, times } of calls) {
        for (let time = 0; time < times; time += 1) {
          await processes[process]?.publish(some.map((type) => envelope(type)));
          published += 1;
          revisions.add(await processes[0]?.counts.revision());
          for (const type of some) received.set(type, (received.get(type) ?? 0) + 1);
        }
        const overview = await processes[1 - process]?.lookup.overview({ types, runTypes: [], runLimit: 1 });
        const expected = types.map((type) => received.get(type) ?? 0);
        const sum = expected.reduce((total, count) => total + count, 0);
        expect(overview?.counts.map(({ total }) => total.received)).toEqual(expected);
        expect(overview?.counts.map(({ total }) => total.completed)).toEqual(expected);
        expect(overview?.activity.map(({ recent }) => recent.last5Min.received)).toEqual(expected);
        expect(overview?.total.recent.last5Min.received).toBe(sum);
      }
      expect(revisions.size).toBe(published + 1);
      for (const each of processes) await each.close({ drainMs: 0 });
    }),
    { numRuns: runs(5) },
  );
});

it('counts a change in the minute in which it was made, before and after it is added to the records', async () => {
  const { prefix, processes } = await connectTwo();
  const [transport] = processes;
  const [found = ''] = await admin.keys(`*${prefix}*`);
  const changes = `${found.slice(0, found.indexOf('}') + 1)}:changes`;
  const now = await serverTime(admin);
  for (const [ago, count] of [
    [3, 5],
    [2, 7],
  ] as const) {
    // Two calls of scripts that counted the same.
    const line = `s/a ${now - ago * minuteMs} 3 r=${count} e-21=${count} w31=${count}`;
    await admin.rpush(changes, line, line);
  }
  const revision = await transport?.counts.revision('a');
  const read = async (): Promise<unknown> => {
    const { received, completed, deduplicated, recent, histories, waitMs, durationMs } =
      (await transport?.counts.metrics('a')) ?? {};
    const minutes = histories?.minutes.received.filter((count) => count > 0);
    return { received, completed, deduplicated, minutes, waitMs, durationMs, last: recent?.last5Min };
  };
  await transport?.publish([envelope('a')]);
  const before = await read();
  expect(before).toMatchObject({
    received: 25,
    completed: 25,
    deduplicated: 12,
    minutes: [10, 14, 1],
    last: { received: 25 },
  });
  for (let call = 5; call < maxChanges; call += 1) await transport?.publish([envelope('b')]);
  expect(await admin.llen(changes)).toBe(0);
  expect(await read()).toEqual(before);
  expect(await transport?.counts.revision('a')).not.toBe(revision);
  for (const each of processes) await each.close({ drainMs: 0 });
});

it('leaves the fields of a newer version in the records, and reads the others', async () => {
  const { prefix, processes } = await connectTwo();
  const [transport] = processes;
  const many = types.map((type) => envelope(type));
  await transport?.publish(many);
  const [found = ''] = await admin.keys(`*${prefix}*`);
  const start = found.slice(0, found.indexOf('}') + 1);
  const records = await admin.hgetall(`${start}:counts`);
  const newer = Object.entries(records).map(([field, record]) => [field, `${record} 42 7`] as const);
  expect(newer).not.toEqual([]);
  await admin.hset(`${start}:counts`, new Map(newer));
  await transport?.publish(many.map(({ type }) => envelope(type)));
  const revision = await transport?.counts.revision(types[0]);
  expect(await admin.llen(`${start}:changes`)).toBe(0);
  for (const record of Object.values(await admin.hgetall(`${start}:counts`))) expect(record).toMatch(/^2 2 0 .* 42 7$/);
  const { counts } = (await transport?.lookup.overview({ types, runTypes: [], runLimit: 1 })) ?? {};
  expect(counts?.map(({ total }) => total)).toEqual(
    types.map(() => expect.objectContaining({ received: 2, completed: 2, failed: 0, deadLetters: 0 })),
  );
  await transport?.publish([envelope(types[0] ?? '')]);
  expect(await transport?.counts.revision(types[0])).not.toBe(revision);
  for (const each of processes) await each.close({ drainMs: 0 });
});

it('counts on if something else has changed the records', async () => {
  const { prefix, processes } = await connectTwo();
  const [transport] = processes;
  const many = types.map((type) => envelope(type));
  await transport?.publish(many);
  const [found = ''] = await admin.keys(`*${prefix}*`);
  const start = found.slice(0, found.indexOf('}') + 1);
  const minutes = await admin.zrange(`${start}:counted-minutes`, '0', '-1');
  for (const name of ['counts', ...minutes.map((minute) => `counted:${minute}`)]) {
    for (const field of await admin.hkeys(`${start}:${name}`)) await admin.hset(`${start}:${name}`, field, 'x y');
  }
  await admin.hset(`${start}:last-hours`, new Map(types.map((type) => [encodeURIComponent(type), 'x y'])));
  await admin.zadd(`${start}:counted-minutes`, 7, 'x y');
  await admin.rpush(`${start}:changes`, 'x y', '', 'x 1 0 r=1', `s/x 1 0 r=${'9'.repeat(400)}`);
  await transport?.publish(many.map(({ type }) => envelope(type)));
  expect(await admin.llen(`${start}:changes`)).toBe(0);
  const { counts, activity } = (await transport?.lookup.overview({ types, runTypes: [], runLimit: 1 })) ?? {};
  expect(counts?.map(({ total }) => total.received)).toEqual(types.map(() => 1));
  expect(activity?.map(({ recent }) => recent.last5Min.received)).toEqual(types.map(() => 1));
  for (const each of processes) await each.close({ drainMs: 0 });
});
