import { expect, it, onTestFinished } from 'vitest';
import { createFakeClock } from '../../testing/fake-clock.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { type ScheduleStore, silentLogger, type Transport } from '../../transports/transport.js';
import { createHub } from '../create-hub.js';
import type { CatchUp } from './schedule.js';

const minute = 60_000;
const start = Date.UTC(2026, 0, 1);

/** Returns the minutes of the hour from `first` to `last`. */
function range(first: number, last: number): string[] {
  return Array.from({ length: last - first + 1 }, (_, index) => `00:${String(first + index).padStart(2, '0')}`);
}

it.each<CatchUp>(['last', 'all', 'none'])(
  'a process whose clock is ahead of that of the transport emits at each due time, with catchUp %s',
  async (catchUp) => {
    const clock = createFakeClock(start);
    const memory = memoryTransport({ clock });
    let aheadMs = 5 * minute;
    let isDown = false;
    const ahead = { ...clock, now: () => clock.now() + aheadMs };
    const transport: Transport = {
      connect(options) {
        const manager = memory.connect(options);
        const { schedules } = manager;
        const claim: ScheduleStore['claim'] = async (due) => {
          if (isDown) throw new Error('down');
          return schedules.claim(due);
        };
        return {
          ...manager,
          clock: ahead,
          schedules: {
            list: () => schedules.list(),
            open: (openings) => schedules.open(openings),
            claim,
            put: (schedule, expected) => schedules.put(schedule, expected),
            get: (id) => schedules.get(id),
            page: (after, limit) => schedules.page(after, limit),
            remove: (id) => schedules.remove(id),
            take: (limit, holdMs) => schedules.take(limit, holdMs),
            watch: (onEarlier) => schedules.watch(onEarlier),
          },
          start: (consuming) => manager.start(consuming),
          publish: (envelopes) => manager.publish(envelopes),
          close: (closing) => manager.close(closing),
        };
      },
    };
    const hub = createHub({ transport, logger: silentLogger });
    onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
    const seen: string[] = [];
    const tick = hub.event<string>({ type: 'tick', handler: ({ payload }) => void seen.push(payload) });
    const payload = (dueAt: Date) => dueAt.toISOString().slice(11, 16);
    hub.schedule({ name: 'ticking', everyMs: minute, emit: tick, payload, catchUp });
    await hub.start();
    await clock.advance(9 * minute);
    // Those before were in the past when it started.
    expect(seen).toEqual(['00:06', '00:07', '00:08', '00:09']);
    // The clock is set right, and then claims are impossible for some minutes.
    aheadMs = 0;
    await clock.advance(8.5 * minute);
    expect(seen.splice(0).slice(4)).toEqual(range(10, 17));
    isDown = true;
    await clock.advance(5 * minute);
    isDown = false;
    await clock.advance(minute / 2);
    expect(seen).toEqual(catchUp === 'all' ? range(18, 23) : range(22, 23));
  },
);
