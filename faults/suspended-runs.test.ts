import type { Hub } from 'hubline';
import { expect, it, onTestFinished } from 'vitest';
import { startFleet } from './fleet.js';
import { setScene, until } from './scene.js';

const runs = 40;

it('suspended runs survive the death of every worker and a restart of Redis with its append-only file', async () => {
  const settings = ['--appendonly', 'yes', '--appendfsync', 'always'];
  const { hub, server, workers, ledger } = await setScene(['begun', 'go', 'durable.ended'], { settings });
  const first = await startFleet(2, workers('durable'));
  for (let n = 0; n < runs; n += 1) await hub.emit('begun', { n });
  // Those that sleep may have resumed before the last run is suspended.
  await until('the waiting runs are suspended', async () => (await state(hub)).reached === runs);
  await first.stop();
  await server.stop('SIGKILL');
  await server.start();
  // No worker lives when the event is accepted.
  await hub.emit('go', {});

  const second = await startFleet(2, workers('durable'));
  onTestFinished(() => second.stop());
  await until('all runs ended', async () => (await state(hub)).ended === runs, 60_000);
  const entries = ledger();
  for (const what of ['before', 'after', 'ended completed']) {
    const keys = entries.filter((entry) => entry.what === what).map(({ key }) => Number(key));
    expect(new Set(keys), what).toEqual(new Set(Array.from({ length: runs }, (_, n) => n)));
  }
  expect(entries.filter(({ what }) => what === 'after').length).toBe(runs);
  expect(await state(hub)).toEqual({ reached: runs, ended: runs });
});

/** Number of runs that wait or have ended, and of those that have ended. */
async function state(hub: Hub): Promise<{ readonly reached: number; readonly ended: number }> {
  const [workflow] = (await hub.introspect()).workflows;
  const { suspended = 0, completed = 0, failed = 0 } = workflow?.metrics ?? {};
  return { reached: suspended + completed + failed, ended: completed + failed };
}
