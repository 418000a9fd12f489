import { setTimeout as delay } from 'node:timers/promises';
import { createHub } from 'hubline';
import { redisTransport } from 'hubline/redis';
import { Redis } from 'ioredis';
import { expect, it, onTestFailed, onTestFinished } from 'vitest';
import { type ReplicatedRedis, replicate } from '../outages/failover.js';
import { startFleet } from '../workers/fleet.js';
import { isLong, setScene, until } from '../workers/scene.js';
import { startWorker, type WorkerProcess } from '../workers/start-worker.js';
import { DeployLoad } from './deploy-load.js';
import { deployedTypes, deployedVersions, keyedDeployed } from './deploy-scenario.js';

const longMs = 10 * 60_000;
const maxCanaries = 3;

type Action = 'deploy' | 'roll back' | 'kill' | 'kill a stable one' | 'fail over' | 'replay' | 'cancel';

const shortForm: readonly Action[] = [
  'deploy',
  'deploy',
  'fail over',
  'kill',
  'cancel',
  'deploy',
  'replay',
  'roll back',
];
const choices: readonly Action[] = [...shortForm, 'roll back', 'kill', 'kill a stable one', 'cancel', 'replay'];

// Kinds of keys that are gone when nothing is pending.
const kindsOfWork = [
  ...['gate', 'delayed', 'line', 'lines', 'blocked', 'held', 'windows', 'overdue', 'overdue-keys'],
  ...['suspended', 'timers', 'waiting'],
];

const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(Math.random() * list.length)];

it(
  'versions with other limits, triggers and types are deployed, rolled back, killed and failed over: no event is lost or stranded',
  async () => {
    const replicas: ReplicatedRedis[] = [];
    const { workers, ledger } = await setScene([], {
      async url(server) {
        const replicated = await replicate(server);
        replicas.push(replicated);
        onTestFinished(() => replicated.release());
        return replicated.url;
      },
    });
    const options = workers('deploy');
    const { url, prefix } = options;
    const hub = createHub({ service: 'shop', transport: redisTransport({ url, prefix, emitTimeoutMs: 60_000 }) });
    hub.event(keyedDeployed);
    for (const type of deployedTypes) if (type !== keyedDeployed.type) hub.event({ type });
    const stable = await startFleet(2, { ...options, variant: 'stable' });
    onTestFinished(() => stable.stop());
    await hub.start();
    onTestFinished(async () => {
      await hub.stop();
    });

    const startedAt = performance.now();
    const journal: string[] = [];
    const note = (what: string): number => journal.push(`${Math.round(performance.now() - startedAt)} ms: ${what}`);
    onTestFailed(() => console.log(journal.slice(-60).join('\n')));

    const load = new DeployLoad(hub);
    const canaries: WorkerProcess[] = [];
    onTestFinished(() => {
      for (const canary of canaries) canary.kill('SIGKILL');
    });
    const endCanary = async (signal: NodeJS.Signals): Promise<void> => {
      const [canary] = canaries.splice(Math.floor(Math.random() * canaries.length), 1);
      canary?.kill(signal);
      await canary?.ended;
    };
    const actions: Readonly<Record<Action, () => Promise<unknown>>> = {
      async deploy() {
        if (canaries.length === maxCanaries) await endCanary('SIGTERM');
        canaries.push(await startWorker({ ...options, variant: pick(deployedVersions) ?? 'stable' }));
      },
      'roll back': () => endCanary('SIGTERM'),
      kill: () => endCanary('SIGKILL'),
      'kill a stable one': async () => stable.killOne(),
      'fail over': () => Promise.all(replicas.map((replicated) => replicated.failOver())),
      replay: () => load.replay(),
      cancel: () => load.cancel(),
    };
    const steps = new Map<Action, number>();
    for (let step = 0; isLong ? performance.now() - startedAt < longMs : step < shortForm.length; step += 1) {
      const action = (isLong ? pick(choices) : shortForm[step]) ?? 'cancel';
      note(action);
      steps.set(action, (steps.get(action) ?? 0) + 1);
      await Promise.all([actions[action](), load.burst(), load.look()]);
      await load.look();
      if (isLong) await delay(Math.random() * 1_000);
    }
    while (canaries.length > 0) await endCanary(isLong ? 'SIGKILL' : 'SIGTERM');
    const admin = new Redis(url);
    onTestFinished(() => admin.disconnect());
    const keysOf = (...kinds: readonly string[]): Promise<string[]> =>
      admin
        .keys(`{${prefix}}:*`)
        .then((keys) => keys.filter((key) => kinds.includes(key.slice(prefix.length + 3).split(':')[0] ?? '')));
    // Dead processes are found at once instead of after their lifetime; living ones register again.
    if (!isLong) await admin.del(...(await keysOf('process')));
    note('the last canary has ended');

    await until('all have ended', () => load.isDone());
    note('all have ended');
    await load.verify(ledger());
    expect(ledger().some(({ what }) => what === 'start c')).toBe(false);
    let left: string[] = [];
    await until('no key of pending work is left', async () => {
      left = await keysOf(...kindsOfWork);
      return left.length === 0;
    }).catch((error: unknown) => expect.fail(`${error}: ${left.join('\n')}`));
    // The settings of the stable version are in effect again: its trigger starts a run, and no limit holds.
    const runs = async (): Promise<number> => (await load.totals()).at(-2)?.received ?? 0;
    await until('the last canary is forgotten', async () => {
      const before = await runs();
      await hub.emit('a', { n: 2 });
      return (await runs()) > before;
    });
    note('the last canary is forgotten');
    const sum = (part: 'known' | 'possible'): number =>
      [...load.emitted.values()].reduce((count, effects) => count + effects[part].size, 0);
    const { looks, cancelled, replays } = load;
    console.log(
      `${Math.round((performance.now() - startedAt) / 1_000)} s; ${sum('known')} emits accepted, ${sum('possible')} without a reply; ` +
        `${cancelled.known.size} cancelled, ${replays} replayed; ${looks} looks; ` +
        [...steps].map(([action, count]) => `${action}: ${count}`).join(', '),
    );
  },
  20 * 60_000,
);
