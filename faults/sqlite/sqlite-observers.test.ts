import { join } from 'node:path';
import { createHub, type Hub } from 'hubline';
import { sqliteObserver } from 'hubline/sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { until } from '../workers/scene.js';
import { newFolder, startOwner } from './sqlite-process.js';

it('an observer gets answers from the process that owns the file, a typed error while it hangs, and the state after its end', async () => {
  const folder = newFolder();
  const owner = await startOwner(folder, '', 0);
  const observe = (timeoutMs: number): Hub => {
    const transport = sqliteObserver({ file: join(folder, 'hub.db'), timeoutMs });
    const observer = createHub({ service: 'shop', observer: true, transport });
    onTestFinished(async () => {
      await observer.stop({ drainMs: 0 });
    });
    return observer;
  };
  const [hub, impatient] = [observe(60_000), observe(500)];
  await hub.start();
  const processes = async () => (await hub.introspect()).events.find(({ type }) => type === 'work')?.processes;
  expect(await processes()).toBe(1);
  owner.kill('SIGSTOP');
  await expect(impatient.start().then(() => impatient.metrics('work'))).rejects.toMatchObject({
    code: 'ERR_TRANSPORT_UNAVAILABLE',
    message: expect.stringContaining('nothing was changed'),
  });
  owner.kill('SIGCONT');
  await owner.drainedCounts();
  expect(await processes()).toBe(1);
  await owner.end();
  expect(await processes()).toBe(0);
  const lost = async () => (await hub.lostProcesses()).map(({ pid, service }) => ({ pid, service }));
  await until('the killed process is listed', async () => (await lost()).length > 0);
  expect(await lost()).toEqual([{ pid: owner.pid, service: 'shop' }]);
  await expect(hub.replay('unknown')).rejects.toMatchObject({ code: 'ERR_UNKNOWN_DEAD_LETTER' });
});
