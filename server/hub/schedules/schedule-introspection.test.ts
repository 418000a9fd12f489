import { describe, expect, it } from 'vitest';
import { testHub } from '../hub.fixture.js';

const hour = 3_600_000;
const start = Date.UTC(2026, 0, 1);

describe('introspection of a schedule', () => {
  it('shows the last and the next due time', async () => {
    const { hub, clock } = testHub();
    hub.event({ type: 'report.due', handler: () => {} });
    const times = { cron: '0 2 * * *', timeZone: 'Europe/Oslo' };
    hub.schedule({ name: 'nightly', description: 'Report', ...times, emit: 'report.due', payload: 'secret' });
    const description = { name: 'nightly', description: 'Report', ...times, emit: 'report.due', catchUp: 'last' };
    expect((await hub.introspect()).schedules).toEqual([{ ...description, service: 'hub', processes: 0 }]);
    await hub.start();
    await clock.advance(2 * hour);
    expect((await hub.introspect()).schedules).toEqual([
      {
        ...description,
        service: 'hub',
        processes: 1,
        lastDueAt: start + hour,
        nextDueAt: start + 25 * hour,
        laterDueAt: [start + 49 * hour, start + 73 * hour],
      },
    ]);
  });

  it('shows the next due times of a leap day, and those after it when it has passed', async () => {
    const { hub, clock } = testHub();
    hub.event({ type: 'report.due', handler: () => {} });
    hub.schedule({ name: 'leap day', cron: '0 0 29 2 *', emit: 'report.due', payload: null });
    const rarely = 1_000 * 24 * hour;
    hub.schedule({ name: 'rarely', everyMs: rarely, emit: 'report.due', payload: null });
    await hub.start();
    const shown = async (): Promise<unknown> =>
      (await hub.introspect()).schedules.map(({ nextDueAt, laterDueAt }) => [nextDueAt, laterDueAt]);
    const leapDays = [2028, 2032, 2036, 2040].map((year) => Date.UTC(year, 1, 29));
    const rare = (Math.floor(start / rarely) + 1) * rarely;
    const [first = 0] = leapDays;
    for (const at of [start + hour, first - 1]) {
      await clock.advance(at - clock.now());
      expect(await shown()).toEqual([
        [first, leapDays.slice(1, 3)],
        [at < rare ? rare : rare + rarely, undefined],
      ]);
    }
    await clock.advance(1);
    expect(await shown()).toMatchObject([[leapDays[1], leapDays.slice(2, 4)], {}]);
  });
});
