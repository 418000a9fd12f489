import { expect, it } from 'vitest';
import { createFakeClock } from '../../testing/fake-clock.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { silentLogger } from '../../transports/transport.js';
import { ProcessRoster } from './process-roster.js';
import type { ProcessIntrospection } from './process-state.js';

/** Store with processes that come and go. */
function stage() {
  const clock = createFakeClock(1_000_000);
  const transport = memoryTransport({ clock }).connect({ service: 'shop', logger: silentLogger });
  const running = new Map<string, ProcessIntrospection>();
  let reads = 0;
  const start = async (id: string, fields: Partial<ProcessIntrospection> = {}) => {
    const shown = {
      id,
      host: 'a',
      pid: 1,
      version: '1',
      startedAt: clock.now(),
      active: 0,
      slots: 10,
      service: 'shop',
    };
    running.set(id, { ...shown, events: ['paid'], workflows: [], ...fields });
    const roster = new ProcessRoster({
      transport,
      logger: silentLogger,
      hubId: id,
      processes: async () => {
        reads += 1;
        return [...running.values()];
      },
    });
    await roster.open();
    return roster;
  };
  return { clock, running, start, reads: () => reads };
}

it('lists who ended without a stop for an hour, the latest first, with what it ran', async () => {
  const { clock, running, start } = stage();
  const [first, second] = [await start('first', { active: 3, release: 'v2', pid: 7 }), await start('second')];
  const reader = await start('reader', { events: [] });
  expect(await reader.lost()).toEqual([]);
  running.delete('first');
  // It may have started after the list of running ones was read.
  await clock.advance(4_999);
  expect(await reader.lost()).toEqual([]);
  await clock.advance(1);
  const lost = { id: 'first', service: 'shop', host: 'a', pid: 7, startedAt: 1_000_000, active: 3, release: 'v2' };
  expect(await reader.lost()).toEqual([{ ...lost, lostAt: 1_000_000 }]);
  const third = await start('third');
  await second.close();
  running.delete('second');
  running.delete('third');
  running.delete('reader');
  await clock.advance(60_000);
  expect((await reader.lost()).map(({ id }) => id)).toEqual(['third', 'first']);
  await clock.advance(3_600_000 - 65_001);
  expect((await reader.lost()).map(({ id }) => id)).toEqual(['third', 'first']);
  await clock.advance(1);
  expect((await reader.lost()).map(({ id }) => id)).toEqual(['third']);
  await Promise.all([first, third].map((roster) => roster.close()));
});

it('reads who is there for an introspection only if one was not noted for 25 seconds, and then every 10', async () => {
  const { clock, running, start, reads } = stage();
  await start('first');
  const reader = await start('reader', { events: [] });
  running.delete('first');
  const before = reads();
  await clock.advance(24_999);
  expect(await reader.recentlyLost()).toEqual([]);
  expect(reads()).toBe(before);
  await clock.advance(10_000);
  for (let call = 0; call < 3; call += 1) {
    expect((await reader.recentlyLost()).map(({ id }) => id)).toEqual(['first']);
    expect(reads()).toBe(before + 1);
  }
  await clock.advance(10_000);
  await reader.recentlyLost();
  expect(reads()).toBe(before + 2);
});

it('no longer lists a process that is there again', async () => {
  const { clock, running, start } = stage();
  const roster = await start('first');
  const [found] = [...running.values()];
  running.clear();
  await clock.advance(20_000);
  expect((await roster.lost()).map(({ id }) => id)).toEqual(['first']);
  if (found !== undefined) running.set('first', found);
  expect(await roster.lost()).toEqual([]);
  await roster.close();
});

it('does not take a process that stops for a lost one, while others still list it', async () => {
  const { clock, running, start } = stage();
  const [stopping, other] = [await start('stopping'), await start('other')];
  await stopping.close();
  // Another process stores who is there before the first one has left.
  await start('next');
  running.delete('stopping');
  await clock.advance(10_000);
  expect(await other.lost()).toEqual([]);
});

it('does not take a process that stops for a lost one, after the transport has forgotten it', async () => {
  const { clock, running, start } = stage();
  const [stopping, other] = [await start('stopping'), await start('other')];
  running.delete('stopping');
  await stopping.close();
  await clock.advance(10_000);
  expect(await other.lost()).toEqual([]);
});

it('keeps the 600 that were seen last', async () => {
  const { clock, running, start } = stage();
  await start('first');
  const [first] = [...running.values()];
  for (let n = 0; n < 700 && first !== undefined; n += 1) running.set(`p${n}`, { ...first, id: `p${n}` });
  await start('last');
  running.clear();
  await clock.advance(5_000);
  const lost = await (await start('reader', { events: [] })).lost();
  expect(lost).toHaveLength(600);
});
