import { expect, it, onTestFinished } from 'vitest';
import { startFleet } from './fleet.js';
import { heal } from './scenarios.js';
import { isLong, setScene, until } from './scene.js';

const events = isLong ? 1_000 : 500;

it(`${events} dead letters are replayed exactly once while workers are killed`, async () => {
  const { hub, workers, ledger } = await setScene(['ailing', 'treated', 'sweep']);
  // Kills are not the fault of a handler: they must not count as a crash loop.
  const options = { ...workers('replay'), maxCrashes: 1_000 };
  const fleet = await startFleet(3, options);
  onTestFinished(() => fleet.stop());
  await Promise.all(Array.from({ length: events }, (_, n) => hub.emit('ailing', { n })));
  await until('all have failed', async () => (await hub.metrics('ailing')).failed === events);

  const done = new AbortController();
  const killing = fleet.killEvery(300, done.signal);
  // Concurrent sweeps compete for the same dead letters.
  const sweep = () => Promise.all([1, 2, 3].map(() => hub.emit('sweep', null)));
  for (let round = 0; round < 4; round += 1) {
    const { kills } = fleet;
    await sweep();
    await until('a worker is killed', () => fleet.kills > kills);
  }
  heal(options.ledger);
  await until(
    'all have completed',
    async () => {
      await sweep();
      return (await hub.metrics('ailing')).completed === events;
    },
    240_000,
  );
  await until('all sweeps and follow-up events have ended', async () => {
    const pending = await Promise.all(['sweep', 'treated'].map(async (type) => (await hub.metrics(type)).pending));
    return pending.every((count) => count === 0);
  });
  done.abort();
  await killing;

  const { received, completed, failed, pending } = await hub.metrics('ailing');
  expect({ completed, pending, received }).toEqual({ completed: events, pending: 0, received: completed + failed });
  expect(failed).toBeGreaterThan(events);
  expect(await hub.metrics('treated')).toMatchObject({ received, completed: received });
  expect(new Set(ledger().map(({ what }) => what)).size).toBe(events);
  expect(new Set(ledger().map(({ key }) => key)).size).toBe(events);
});
