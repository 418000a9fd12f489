import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { silentLogger, type TransportManager } from '../../transport.js';
import { CommandClient } from '../connection/command-client.js';
import { loadScripts, type Script, type ScriptArgument } from '../connection/script.js';
import { resolveRedisOptions } from '../redis-options.js';
import { redisStage } from '../redis-stage.fixture.js';
import { Membership } from './membership.js';

const { server, admin, prefix, transport, consume, connect, until } = await redisStage();
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

/** Client of a process that does something after each script. */
class WatchedClient extends CommandClient {
  readonly #afterScript: () => Promise<void>;

  constructor(afterScript: () => Promise<void>) {
    super(resolveRedisOptions({ url: server.url, prefix: prefix() }), silentLogger);
    this.#afterScript = afterScript;
  }

  override async runScript(script: Script, args: readonly ScriptArgument[]): Promise<unknown> {
    const reply = await super.runScript(script, args);
    await this.#afterScript();
    return reply;
  }
}

it('shows a service at any moment while its process ends, another one starts, and its description changes', async () => {
  await loadScripts(admin);
  await (await consume(['a'], { description: text(1) })).transport.close({ drainMs: 0 });
  const observer = connect('watch');
  const shown: string[] = [];
  const commands = new WatchedClient(async () => {
    shown.push((await observer.fleet.registered()).join() || 'nothing');
  });
  let release = 2;
  const parts = { service: 'shop', processId: 'p', commands, logger: silentLogger, active: () => 0 };
  const membership = new Membership(parts, { subscriptions: [{ type: 'a' }], describe: () => text(release) });
  await membership.join();
  for (release = 3; release < 6; release += 1) await membership.rejoin();
  await membership.leave();
  await commands.close();
  const stopped = (one: number): string => JSON.stringify({ ...JSON.parse(text(one)), isStopped: true });
  // A service has those of its last processes until the one that starts is a member.
  const starting = [`${stopped(1)},${stopped(2)}`, `${text(2)},${stopped(1)},${stopped(2)}`];
  const running = [text(2), text(3), text(4), text(5)];
  expect([...new Set(shown)]).toEqual([stopped(1), ...starting, ...running, `${stopped(1)},${stopped(5)}`]);
  await observer.close({ drainMs: 0 });
});

/** Client of a process that dies after some scripts. */
class DyingClient extends CommandClient {
  readonly onDeath: Promise<never>;
  #left: number;
  #die: (reason: Error) => void = () => {};

  constructor(scripts: number) {
    super(resolveRedisOptions({ url: server.url, prefix: prefix() }), silentLogger);
    this.#left = scripts;
    this.onDeath = new Promise((_, reject) => {
      this.#die = reject;
    });
  }

  override runScript(script: Script, args: readonly ScriptArgument[]): Promise<unknown> {
    if (this.#left === 0) this.#die(new Error('dead'));
    this.#left -= 1;
    return this.#left < 0 ? new Promise(() => {}) : super.runScript(script, args);
  }
}

it('retains nothing of a process that dies before it subscribes, whenever that is', async () => {
  await loadScripts(admin);
  const outcomes: object[] = [];
  for (let scripts = 1; !outcomes.some((outcome) => 'isSubscribed' in outcome); scripts += 1) {
    const commands = new DyingClient(scripts);
    const parts = { service: 'shop', processId: `p${scripts}`, commands, logger: silentLogger, active: () => 0 };
    const membership = new Membership(parts, { subscriptions: [{ type: 'a' }], describe: () => text(scripts) });
    await Promise.race([membership.join(), commands.onDeath]).catch(() => {});
    await commands.close();
    const isSubscribed = (await admin.exists(key('services'))) === 1;
    const kept = (await lives()).filter((seconds) => seconds === -1).length;
    outcomes.push(
      isSubscribed ? { isSubscribed, kept } : { kept, list: await admin.ttl(key('last-descriptions', 'shop')) },
    );
  }
  const expired = expect.toSatisfy((seconds: number) => seconds !== -1);
  const alive = Array.from(outcomes.slice(1), () => ({ kept: 0, list: expired }));
  expect(outcomes).toEqual([...alive, { isSubscribed: true, kept: outcomes.length - 1 }]);
});
