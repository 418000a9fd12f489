import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { startFleet } from './fleet.js';
import { isLong, setScene, until } from './scene.js';
import { startWorker } from './start-worker.js';

const rounds = isLong ? 60 : 5;
const types = ['a', 'b', 'c'];

it(`${rounds} canaries with other limits, triggers and types are rolled back or killed: no event is stranded`, async () => {
  const { hub, workers, ledger } = await setScene(types);
  // No handler is to blame for what happens to its process.
  const options = { ...workers('deploy'), maxCrashes: 1_000 };
  const stable = await startFleet(2, { ...options, variant: 'stable' });
  onTestFinished(() => stable.stop());
  const accepted = new Map(types.map((type) => [type, 0]));
  const emit = async (count: number): Promise<void> => {
    await Promise.all(
      Array.from({ length: count }, async (_, n) => {
        const type = n % 2 === 0 ? 'a' : 'b';
        await hub.emit(type, { n }, n % 7 === 0 ? { delayMs: 300 } : {});
        accepted.set(type, (accepted.get(type) ?? 0) + 1);
      }),
    );
  };
  const look = async (): Promise<void> => {
    for (const { metrics } of (await hub.introspect()).events) {
      const { received, completed, failed, pending } = metrics;
      expect(received).toBe(completed + failed + pending);
      expect(pending).toBeGreaterThanOrEqual(0);
    }
  };
  for (let round = 0; round < rounds; round += 1) {
    const variant = round % 2 === 0 ? 'limited' : 'wider';
    const canary = await startWorker({ ...options, variant });
    onTestFinished(() => canary.kill('SIGKILL'));
    await emit(60);
    await look();
    await delay(Math.random() * 500);
    canary.kill(round % 3 === 2 ? 'SIGTERM' : 'SIGKILL');
    await emit(60);
    await look();
    await canary.ended;
  }
  const counts = async () =>
    (await hub.transport.counts([...types, 'workflow\u001fdeployed'])).map(({ total }) => total);
  await until('all have ended', async () => (await counts()).every(({ pending }) => pending === 0), 120_000);
  const [a, b] = await counts();
  expect(a).toMatchObject({ received: accepted.get('a'), completed: accepted.get('a'), failed: 0, active: 0 });
  expect(b).toMatchObject({ received: accepted.get('b'), completed: accepted.get('b'), failed: 0, active: 0 });
  expect(ledger().some(({ what }) => what === 'start c')).toBe(false);
  // The settings of the stable version are in effect again: its trigger starts a run, and no limit holds.
  await until('the last canary is forgotten', async () => {
    const before = (await counts()).at(-1)?.received ?? 0;
    await hub.emit('a', { n: 2 });
    return ((await counts()).at(-1)?.received ?? 0) > before;
  });
});
