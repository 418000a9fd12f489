import type { Hub } from 'hubline';
import { expect, it, onTestFinished } from 'vitest';
import { startFleet } from '../workers/fleet.js';
import { setScene, until } from '../workers/scene.js';

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

  // No lease of theirs expires: a step that has run is recorded.
  const second = await startFleet(2, { ...workers('durable'), lockDurationMs: 300_000 });
  onTestFinished(() => second.stop());
  const reached = (what: string): Set<number> =>
    new Set(ledger().flatMap((entry) => (entry.what === what ? [Number(entry.key)] : [])));
  await until('all runs ended', () => reached('ended completed').size === runs);
  expect(reached('before').size).toBe(runs);
  // A worker that dies may have run a step of a run that sleeps, and not recorded it.
  const afterWait = ledger().filter(({ what, key }) => what === 'after' && Number(key) % 2 === 0);
  expect(afterWait).toHaveLength(runs / 2);
  expect(await state(hub)).toEqual({ reached: runs, ended: runs });
});

/** Number of runs that wait or have ended, and of those that have ended. */
async function state(hub: Hub): Promise<{ readonly reached: number; readonly ended: number }> {
  const [workflow] = (await hub.introspect()).workflows;
  const { suspended = 0, completed = 0, failed = 0 } = workflow?.metrics ?? {};
  return { reached: suspended + completed + failed, ended: completed + failed };
}
