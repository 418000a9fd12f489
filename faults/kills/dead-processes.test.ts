import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { programOf } from '../workers/program.js';
import { isLong, setScene, until } from '../workers/scene.js';
import { busyTypes, patient, startEveryFeature } from './every-feature.js';

const generations = isLong ? 5 : 1;
const eventsPerType = 30;

it('killed processes with every feature leave nothing in Redis that names them, and nothing waits for them', async () => {
  const { workers } = await setScene([]);
  const { url, prefix } = workers('');
  const admin = new Redis(url);
  onTestFinished(() => admin.disconnect());
  const key = (...parts: readonly string[]): string => [`{${prefix}}`, ...parts].join(':');
  const processes = (): Promise<string[]> => admin.zrange(key('registrations'), '0', '-1');

  const survivors = await startEveryFeature(url, prefix, 0);
  const [shop, , web] = survivors;
  onTestFinished(async () => {
    await Promise.all(survivors.map((hub) => hub.stop()));
  });
  if (shop === undefined || web === undefined) throw new Error('no hub');
  const run = await shop.startWorkflow(patient, null);
  const result = run.result();
  result.catch(() => {});
  const living = await processes();

  for (let generation = 0; generation < generations; generation += 1) {
    const victim = fork(programOf('every-feature-worker'), [url, prefix, run.runId], { execArgv: [] });
    onTestFinished(() => void victim.kill('SIGKILL'));
    await once(victim, 'message');
    const dead = (await processes()).filter((id) => !living.includes(id));
    expect(dead).toHaveLength(survivors.length);
    const emitToAll = (count: number) =>
      Promise.all(
        busyTypes.flatMap((type) => Array.from({ length: count }, (_, n) => web.emit(type, n % 5, { delayMs: n }))),
      );
    await emitToAll(eventsPerType);
    await until('handlers of the victim run, and run on after their timeout', async () => {
      const active = (await shop.transport.counts.get(['limited', 'rated', 'keyed'])).map(({ total }) => total.active);
      if (active.every((count) => count > 0) && (await admin.hlen(key('overdue', 'shop/late'))) > 0) return true;
      // The survivors may have taken every event of a type: the victim takes one of the next ones.
      await emitToAll(5);
      return false;
    });

    victim.kill('SIGKILL');
    await once(victim, 'exit');
    // Their lifetime has passed, and the survivors' next heartbeats follow at once.
    await admin.del(...dead.map((id) => key('process', id)));
    await admin.zadd(key('registrations'), ...dead.flatMap((id) => ['1', id]));
    for (const type of ['normal', 'pubsub']) await admin.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes');
    let named: string[] = [];
    await until('nothing names a dead process', async () => {
      const contents = await readAll(admin, prefix);
      named = contents.filter((content) => dead.some((id) => content.includes(id)));
      return named.length === 0;
    }).catch((error: unknown) => expect.fail(`${error}: ${named.join('\n')}`));
    const lost = async () => (await web.lostProcesses()).filter(({ pid }) => pid === victim.pid);
    await until('the hubs of the victim with handlers are listed', async () => (await lost()).length > 0);
    expect((await web.lostProcesses()).every(({ pid }) => pid !== process.pid)).toBe(true);
    await until('all have ended', async () => {
      const pending = (await shop.transport.counts.get(busyTypes)).map(({ total }) => total.pending);
      return pending.every((count) => count === 0);
    });
  }
  await web.emit('go', null);
  expect(await result).toBeNull();
});

/** Returns the name and the content of each key of the prefix, at one instant. */
async function readAll(admin: Redis, prefix: string): Promise<string[]> {
  const reply = await admin.eval(
    `
local readers = { hash = { 'HGETALL' }, set = { 'SMEMBERS' }, string = { 'GET' } }
readers.zset = { 'ZRANGE', 0, -1 }
readers.list = { 'LRANGE', 0, -1 }
readers.stream = { 'XRANGE', '-', '+' }
local contents = {}
for index, name in ipairs(redis.call('KEYS', ARGV[1])) do
  local reader = readers[redis.call('TYPE', name).ok]
  contents[index] = name .. ' ' .. cjson.encode(redis.call(reader[1], name, unpack(reader, 2)))
end
return contents
`,
    0,
    `{${prefix}}:*`,
  );
  return Array.isArray(reply) ? reply.map(String) : [];
}
