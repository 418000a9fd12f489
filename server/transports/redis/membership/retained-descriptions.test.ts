import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { silentLogger, type TransportManager } from '../../transport.js';
import { redisStage } from '../redis-stage.fixture.js';

const { admin, prefix, transport, consume, connect, until } = await redisStage();
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const text = (release: number): string => JSON.stringify({ service: 'shop', release });
const key = (...parts: string[]): string => `{${prefix()}}:${parts.join(':')}`;
const retained = (): Promise<string[]> => admin.zrange(key('last-descriptions', 'shop'), '0', '-1');
const lives = async (): Promise<number[]> =>
  Promise.all((await admin.keys(key('description', '*'))).map((name) => admin.ttl(name)));

/** Does what happens without heartbeats after processes are killed. */
async function expireProcesses(): Promise<void> {
  const ids = await admin.zrange(key('registrations'), '0', '-1');
  await admin.del(...ids.flatMap((id) => [key('process', id), key('state', id)]));
}

/** Returns the descriptions that a process without subscriptions sees. */
async function seen(manager: TransportManager): Promise<unknown[]> {
  return (await manager.fleet.registered()).map((json) => JSON.parse(json));
}

/** Sends heartbeats until a condition is true. One that comes while another is under way is left out. */
function beatUntil(condition: () => Promise<boolean>): Promise<void> {
  return until(() => {
    vi.advanceTimersByTime(5_000);
    return condition();
  });
}

/** Makes the heartbeats with all descriptions as old as those of an earlier release. */
async function age(): Promise<void> {
  for (const hash of await retained()) await admin.zadd(key('last-descriptions', 'shop'), 1, hash);
}

it('shows the types of a service whose processes were killed', async () => {
  await consume(['a'], { description: text(1) });
  await consume(['b'], { description: text(2) });
  await expireProcesses();
  const observer = connect('watch');
  expect(await seen(observer)).toEqual(expect.arrayContaining([{ ...JSON.parse(text(1)), isStopped: true }]));
  expect(await seen(observer)).toHaveLength(2);
  expect(await observer.fleet.processes()).toEqual([]);
  expect(await lives()).toEqual([-1, -1]);
  await observer.close({ drainMs: 0 });
});

it('forgets the types of an earlier release while a later one runs', async () => {
  const before = await consume(['a'], { description: text(1) });
  await before.transport.close({ drainMs: 0 });
  const after = await consume(['b'], { description: text(2) });
  expect(await retained()).toHaveLength(2);
  await age();
  await beatUntil(async () => (await retained()).length === 1);
  expect((await lives()).filter((seconds) => seconds === -1)).toHaveLength(1);
  await after.transport.close({ drainMs: 0 });
  const observer = connect('watch');
  expect(await seen(observer)).toEqual([{ ...JSON.parse(text(2)), isStopped: true }]);
  await observer.close({ drainMs: 0 });
});

it('retains one description per process, however often it changes', async () => {
  let release = 1;
  const manager = transport().connect({ service: 'shop', logger: silentLogger });
  await manager.start({
    subscriptions: [{ type: 'a' }],
    concurrency: 1,
    describe: () => text(release),
    onDelivery: () => {},
  });
  for (release = 2; release < 6; release += 1) {
    const [last] = await retained();
    await beatUntil(async () => (await retained())[0] !== last);
    expect(await retained()).toHaveLength(1);
  }
  expect((await lives()).filter((seconds) => seconds === -1)).toHaveLength(1);
  await manager.close({ drainMs: 0 });
});

it('leaves nothing of a service that was retired, and ignores what an earlier version leaves', async () => {
  const shop = await consume(['a'], { description: text(1) });
  await shop.transport.close({ drainMs: 0 });
  const [hash = ''] = await retained();
  await transport().retire('shop');
  expect(await retained()).toEqual([]);
  expect(await lives()).toEqual([]);
  await admin.zadd(key('last-descriptions', 'shop'), 1, hash);
  await admin.set(key('description', hash), text(1));
  const observer = connect('watch');
  expect(await seen(observer)).toEqual([]);
  await observer.close({ drainMs: 0 });
});

it('stores a description again if an earlier version let it expire', async () => {
  await consume(['a'], { description: text(1) });
  const [hash = ''] = await retained();
  await admin.pexpire(key('description', hash), 16_000);
  await beatUntil(async () => (await lives())[0] === -1);
  await admin.del(key('description', hash));
  await beatUntil(async () => (await lives())[0] === -1);
  expect(await retained()).toEqual([hash]);
});
