import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PeriodHistory } from '../../statistics/period-history.js';
import { noActivity } from '../../statistics/periods.js';
import type { RecentActivity } from '../../statistics/stats.js';
import { readCountedMinute } from './counted-minute.js';
import { RecentActivities } from './recent-activities.js';

const current = 29_922_760;

const counts = fc
  .record({ r: fc.nat(50), e5: fc.nat(20), 'w-3': fc.nat(9), d70: fc.nat(9), f: fc.nat(9), q: fc.nat(1e6) })
  .map((all) =>
    Object.entries(all)
      .flatMap(([name, count]) => (count === 0 ? [] : [`${name}=${count}`]))
      .join(' '),
  );
const history = fc.array(fc.tuple(fc.integer({ min: 1, max: 4 }), counts), { maxLength: 6 }).map((minutes) => {
  if (minutes.length === 0) return '';
  const stored = new PeriodHistory();
  let minute = current - 30;
  for (const [gap, text] of minutes) {
    minute += gap;
    stored.add(minute, readCountedMinute(text));
  }
  stored.closeMinute();
  return stored.pack().parts.get('minutes') ?? '';
});

function expected(minute: number, lastHour: string, open: readonly (readonly [number, string])[]): RecentActivity {
  const stored = new PeriodHistory().restore([['minutes', lastHour]]);
  for (const [at, text] of open) stored.add(at, readCountedMinute(text));
  return stored.recent(minute * 60_000);
}

it('reads the same from last hours that it knows as from those that it receives', () => {
  const poll = fc.record({
    advances: fc.boolean(),
    isRolled: fc.boolean(),
    histories: fc.array(history, { minLength: 3, maxLength: 3 }),
    open: fc.array(fc.array(counts, { minLength: 3, maxLength: 3 }), { maxLength: 2 }),
    types: fc.constantFrom('a,b,c', 'a,b,c', 'c,d,e'),
  });
  fc.assert(
    fc.property(fc.array(poll, { minLength: 2, maxLength: 8 }), (polls) => {
      const activities = new RecentActivities();
      const bodies: (readonly [unknown, string])[] = [];
      let [minute, rolled] = [current, 0];
      let stored: readonly string[] = ['', '', ''];
      for (const { advances, isRolled, histories, open, types } of polls) {
        if (advances) minute += 1;
        if (isRolled) [rolled, stored] = [rolled + 1, histories];
        const minutes = open.map((texts, index) => ({ minute: minute - open.length + 1 + index, counts: texts }));
        const read = () =>
          activities.read(types, minute, {
            open: minutes,
            rolled: `${rolled}`,
            lastHours: activities.rolledOf(types) === `${rolled}` ? undefined : stored,
          });
        const found = read();
        expect(found).toEqual(
          stored.map((lastHour, index) =>
            expected(
              minute,
              lastHour,
              minutes.map((each) => [each.minute, each.counts[index] ?? '']),
            ),
          ),
        );
        for (const [index, again] of read().entries()) expect(again).toBe(found[index]);
        bodies.push([found, JSON.stringify(found)]);
      }
      for (const [found, text] of bodies) expect(JSON.stringify(found)).toBe(text);
    }),
    { numRuns: 200 },
  );
});

it.each(['', 'x', ' r= =4 5 r=r', '-1 r=-', `r=${'9'.repeat(400)}`, 'w=', '\n\n=\n'])(
  'counts what no script can have written as 0: %j',
  (text) => {
    const open = [{ minute: current, counts: [text] }];
    const [activity] = new RecentActivities().read('a', current, { open, rolled: '', lastHours: ['é!'] });
    expect(activity).toEqual(noActivity);
  },
);
