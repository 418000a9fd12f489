import fc from 'fast-check';
import { expect, it } from 'vitest';
import { StartLog } from './start-log.js';

const gaps = fc.array(fc.oneof(fc.nat(3), fc.nat(40), fc.nat(300)), { minLength: 30, maxLength: 120 });
const rate = fc.record({
  max: fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 1, max: 8 }) }, fc.integer({ min: 90, max: 300 })),
  perMs: fc.integer({ min: 20, max: 400 }),
});

it('never allows more than max starts in any window, whatever rates follow each other and however it is stored', () => {
  const change = fc.record({ after: fc.nat(60), rate, isRestored: fc.boolean() });
  fc.assert(
    fc.property(rate, gaps, fc.array(change, { minLength: 1, maxLength: 6 }), (first, all, changes) => {
      let current = first;
      let log = new StartLog(first);
      const starts: number[] = [];
      let now = 0;
      for (const [index, gap] of all.entries()) {
        now += gap;
        for (const { after, rate: next, isRestored } of changes) {
          if (after !== index) continue;
          current = next;
          if (isRestored) log = StartLog.restore(log.stored(1_000), -1_000);
          log.setRate(next);
        }
        for (let burst = 0; burst < 60 && log.openAt <= now; burst += 1) {
          log.countStart(now);
          starts.push(now);
          const inWindow = starts.length - (starts.findLastIndex((other) => other <= now - current.perMs) + 1);
          if (inWindow > current.max) expect(inWindow).toBeLessThanOrEqual(current.max);
        }
      }
    }),
  );
});

it('allows max starts at once when none is left in the window, and as many as max per window', () => {
  fc.assert(
    fc.property(rate, fc.nat(), ({ max, perMs }, seed) => {
      const log = new StartLog({ max, perMs });
      let now = seed % 1_000;
      let starts = 0;
      const from = now;
      for (; now < from + 4 * perMs; now += 1) {
        for (; log.openAt <= now; starts += 1) log.countStart(now);
      }
      expect(starts).toBe(4 * max);
      now = Math.max(now, log.forgetAt);
      for (let index = 0; index < max; index += 1) {
        expect(log.openAt).toBeLessThanOrEqual(now);
        log.countStart(now);
      }
      expect(log.openAt).toBe(now + perMs);
    }),
  );
});

it('knows once it is stored until when starts are not known', () => {
  const log = new StartLog({ max: 1, perMs: 20 });
  for (const at of [0, 20]) log.countStart(at);
  log.setRate({ max: 2, perMs: 20 });
  const restored = StartLog.restore(log.stored());
  restored.setRate({ max: 90, perMs: 21 });
  expect(restored.openAt).toBe(21);
});

it('spaces the starts of a steady flow at 99 % of the rate, and holds 200 groups', () => {
  const log = new StartLog({ max: 10_000, perMs: 1_000 });
  let starts = 0;
  for (let now = 0; now < 20_000; now += 0.05) {
    if (log.openAt > now) continue;
    log.countStart(now);
    starts += 1;
  }
  expect(starts).toBeGreaterThan(0.98 * 200_000);
  expect(log.stored().length).toBeLessThanOrEqual(2 + 2 * 200);
});

it('allows no start too early after the clock was set back', () => {
  const log = new StartLog({ max: 1, perMs: 100 });
  log.countStart(1_000);
  log.countStart(500);
  expect(log.openAt).toBe(1_100);
});
