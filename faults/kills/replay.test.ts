import { expect, it, onTestFinished } from 'vitest';
import { startFleet } from '../workers/fleet.js';
import { heal } from '../workers/scenarios.js';
import { isLong, setScene, until } from '../workers/scene.js';

const events = isLong ? 1_000 : 500;

it(`${events} dead letters are replayed exactly once while workers are killed`, async () => {
  const { hub, workers, ledger } = await setScene(['ailing', 'treated', 'sweep']);
  const options = workers('replay');
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
  await until('replayed events have failed again', async () => (await hub.metrics('ailing')).failed > events);
  heal(options.ledger);
  await until('all have completed', async () => {
    // More than the processes can handle would only wait.
    if ((await hub.metrics('sweep')).pending === 0) await sweep();
    return (await hub.metrics('ailing')).completed === events;
  });
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
