import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../../../scripts/property-tests.js';
import { createFakeClock } from '../../testing/fake-clock.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { createHub } from '../create-hub.js';
import type { Hub } from '../hub.js';
import type { CatchUp } from './schedule.js';

const second = 1_000;
const start = Date.UTC(2026, 0, 1);

describe('schedules of several processes that start and stop at random', () => {
  const action = fc.oneof(
    fc.record({ do: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 5_000 }) }),
    fc.record({ do: fc.constant('toggle' as const), hub: fc.nat(2) }),
  );

  it.each<CatchUp>(['last', 'all', 'none'])('emit one event per due time, with catchUp %s', async (catchUp) => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 30 }), async (actions) => {
        const clock = createFakeClock(start);
        const transport = memoryTransport({ clock });
        const emitted: number[] = [];
        const hubs: (Hub | undefined)[] = [undefined, undefined, undefined];
        const startHub = async (): Promise<Hub> => {
          const hub = createHub({ transport });
          const tick = hub.event<number>({ type: 'tick', handler: ({ payload }) => void emitted.push(payload) });
          const payload = (dueAt: Date): number => dueAt.getTime() - start;
          hub.schedule({ name: 'tick', everyMs: second, emit: tick, payload, catchUp });
          await hub.start();
          return hub;
        };
        // The model: due times of the seconds in which a process runs, and what is made up for at a start after a gap.
        const expected: number[] = [];
        let position: number | undefined;
        const claim = (): void => {
          const now = clock.now() - start;
          for (let due = (position ?? 0) + second; due <= now; due += second) expected.push(due);
          position = Math.floor(now / second) * second;
        };
        for (const one of actions) {
          const isRunning = hubs.some((hub) => hub !== undefined);
          if (one.do === 'advance') {
            await clock.advance(one.ms);
            if (isRunning) claim();
            continue;
          }
          const hub = hubs[one.hub];
          hubs[one.hub] = hub === undefined ? await startHub() : undefined;
          await hub?.stop();
          await clock.settle();
          if (hub !== undefined || isRunning) continue;
          const last = Math.floor((clock.now() - start) / second) * second;
          if (position !== undefined && catchUp === 'last' && last > position) expected.push(last);
          if (position !== undefined && catchUp === 'all') claim();
          position = last;
        }
        for (const hub of hubs) await hub?.stop();
        expect(emitted).toEqual(expected);
      }),
      { numRuns: runs(40) },
    );
  });
});

describe.each(['Europe/Oslo', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Casablanca'])(
  'a nightly schedule in %s',
  (timeZone) => {
    it('emits one event per day over ten years', async () => {
      const clock = createFakeClock(start);
      const transport = memoryTransport({ clock });
      const dueTimes: number[] = [];
      const hub = createHub({ transport });
      const night = hub.event<number>({ type: 'night', handler: ({ payload }) => void dueTimes.push(payload) });
      const cron = '30 2 * * *';
      hub.schedule({ name: 'nightly', cron, timeZone, emit: night, payload: (dueAt) => dueAt.getTime() });
      await hub.start();
      const end = Date.UTC(2036, 0, 1);
      await clock.advance(end - start);
      await hub.stop();
      const days = dueTimes.map((dueAt) => new Intl.DateTimeFormat('sv-SE', { timeZone }).format(dueAt));
      expect(new Set(days).size).toBe(dueTimes.length);
      expect(dueTimes.length).toBeGreaterThanOrEqual(3_651);
      expect(dueTimes).toEqual(nights(timeZone, start, end));
    });
  },
);

/** Returns the first half hour of each day at which clocks of a zone show 02:30 or later: independent of cron. */
function nights(timeZone: string, from: number, to: number): number[] {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' });
  const found: number[] = [];
  // The day of the first instant is left out: its night may be over. Two nights are at least 22 hours apart.
  const first = from - 2 * 86_400_000;
  let [lastDate] = format.format(first).split(' ');
  for (let instant = first; instant <= to; instant += 1_800_000) {
    const [date = '', time = ''] = format.format(instant).split(' ');
    if (date === lastDate || time < '02:30') continue;
    lastDate = date;
    if (instant >= from) found.push(instant);
    instant += 79_200_000;
  }
  return found;
}
