import { expect, it, onTestFinished } from 'vitest';
import { startFleet } from './fleet.js';
import { heal } from './scenarios.js';
import { isLong, setScene, until } from './scene.js';

const events = isLong ? 5_000 : 500;

it(`${events} dead letters are replayed once each while those who replay and those who run are killed`, async () => {
  const { hub, workers, ledger } = await setScene(['ailing', 'treated', 'sweep']);
  // Here no handler is to blame for what happens to its process.
  const options = { ...workers('replay'), maxCrashes: 1_000 };
  const fleet = await startFleet(3, options);
  onTestFinished(() => fleet.stop());
  await Promise.all(Array.from({ length: events }, (_, n) => hub.emit('ailing', { n })));
  await until('all have failed', async () => (await hub.metrics('ailing')).failed === events);

  heal(options.ledger);
  const done = new AbortController();
  const killing = fleet.killEvery(300, done.signal);
  await until(
    'all are well',
    async () => {
      // Several at once, so that they meet at the same letters.
      await Promise.all([1, 2, 3].map(() => hub.emit('sweep', null)));
      return (await hub.metrics('ailing')).completed === events;
    },
    240_000,
  );
  await until('all sweeps and what follows have ended', async () => {
    const pending = await Promise.all(['sweep', 'treated'].map(async (type) => (await hub.metrics(type)).pending));
    return pending.every((count) => count === 0);
  });
  done.abort();
  await killing;

  const ended = { completed: events, failed: events, pending: 0, active: 0 };
  expect(await hub.metrics('ailing')).toMatchObject({ received: 2 * events, ...ended });
  expect(await hub.metrics('treated')).toMatchObject({ received: 2 * events, completed: 2 * events });
  expect(new Set(ledger().map(({ what }) => what)).size).toBe(events);
  expect(new Set(ledger().map(({ key }) => key)).size).toBe(events);
  expect(fleet.kills).toBeGreaterThan(3);
});
